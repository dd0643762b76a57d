import Reactor

/// Accepts connections and shakes hands, on one thread.
final class HandshakeServer {
    private let context: HandshakeContext
    private let listener: Listener
    private var poller: Poller
    /// By the number of the descriptor.
    private var handshakes: [Handshake?] = []

    init(certificate: String, key: String, port: UInt16) throws {
        context = try HandshakeContext(certificate: certificate, key: key)
        listener = try Listener(host: "127.0.0.1", port: port)
        poller = try Poller()
        try poller.add(listener.number, token: UInt64(listener.number), for: .read)
    }

    /// The port it got, also when 0 was asked for.
    var port: UInt16 { listener.port }

    /// Serves until the process ends.
    func run() throws -> Never {
        Machine.raiseOpenFileLimit()
        while true {
            for number in 0..<(try poller.wait(milliseconds: -1)) {
                let index = Int(poller.event(number).token)
                if index == Int(listener.number) {
                    try accept()
                } else if handshakes[index]?.advance() == false {
                    handshakes[index] = nil
                }
            }
        }
    }

    private func accept() throws {
        while let accepted = try listener.accept() {
            let socket = accepted.takeDescriptor()
            let number = socket.number
            guard let handshake = Handshake(socket, context) else { continue }
            try poller.add(number, token: UInt64(number), for: .read)
            while handshakes.count <= Int(number) { handshakes.append(nil) }
            handshakes[Int(number)] = handshake
        }
    }
}
