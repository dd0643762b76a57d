import Reactor

/// Two ends of a TCP connection on this machine.
struct Loopback: ~Copyable {
    let near: FileDescriptor
    let far: FileDescriptor
    let peer: PeerAddress

    init(host: String = "127.0.0.1") throws {
        let listener = try Listener(host: host, port: 0)
        let near = try Destination(host: host, port: listener.port).connect(timeoutMilliseconds: 5_000)
        let accepted = try acceptWaiting(listener)
        peer = accepted.peer
        far = accepted.takeDescriptor()
        self.near = near
    }
}

struct NothingCame: Error {}

/// Waits until `number` is readable.
func awaitReadable(_ number: Int32) throws {
    var poller = try Poller(batch: 1)
    try poller.add(number, token: 0, for: .read)
    guard try poller.wait(milliseconds: 5_000) == 1 else { throw NothingCame() }
}

func acceptWaiting(_ listener: Listener) throws -> Accepted {
    try awaitReadable(listener.number)
    guard let accepted = try listener.accept() else { throw NothingCame() }
    return accepted
}

/// Reads until `count` bytes or the end have come.
func readAll(_ descriptor: borrowing FileDescriptor, count: Int, bufferCount: Int = 4096) throws -> [UInt8] {
    var (bytes, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: bufferCount))
    while bytes.count < count {
        guard let length = try descriptor.read(into: &buffer) else {
            try awaitReadable(descriptor.number)
            continue
        }
        if length == 0 { break }
        bytes += buffer[..<length]
    }
    return bytes
}
