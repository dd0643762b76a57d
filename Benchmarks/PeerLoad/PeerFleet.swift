import Client
import Reactor
import TLS

/// All connections of a load, on one thread: the publishers first, then the subscribers.
final class PeerFleet<Talk: Conversation> {
    private(set) var links: [PeerLink<Talk>] = []
    private(set) var readyCount = 0

    private let parts: [Part]
    private let load: LoadOptions
    private let context: TLSContext
    private let destination: Destination
    private let transport = TLSTransport()
    private var poller: Poller
    private var receipts: Receipts
    /// Large, so that a turn takes what a fast server has sent with one read.
    private var buffer = [UInt8](repeating: 0, count: 262_144)

    /// Handshakes that may be going on at once: more would time each other out on a busy server.
    private static var handshakeLimit: Int { 32 }
    private static var patience: Int64 { 30_000_000_000 }

    init(_ load: LoadOptions, publishers: Int, subscribers: Int) throws {
        var random = SystemRandomNumberGenerator()
        let payload = Payload(run: UInt32.random(in: 0 ... .max, using: &random), count: load.payload)
        func part(_ role: Part.Role, _ index: Int) -> Part {
            Part(role: role, index: index, load: load, payload: payload)
        }
        parts = (0..<publishers).map { part(.publisher, $0) } + (0..<subscribers).map { part(.subscriber, $0) }
        receipts = Receipts(payload)
        self.load = load
        // The certificate is that of an instance made for the measurement, so there is nothing to verify it by.
        context = try TLSContext.client(caPEM: nil, alpn: [])
        destination = try Destination(host: load.host, port: load.port)
        poller = try Poller()
    }

    /// Connects all, and returns when the server has accepted the last one.
    func connect() throws {
        Machine.raiseOpenFileLimit()
        var heard = Clock.monotonic()
        // The first one alone: it makes on the server what the others need.
        var allowed = 1
        while readyCount < parts.count {
            while links.count < parts.count, links.count - readyCount < allowed { try dial(parts[links.count]) }
            let before = readyCount
            try turn(nanoseconds: 100_000_000) { _, _, _ in }
            if readyCount > before { heard = Clock.monotonic() }
            guard Clock.monotonic() - heard < Self.patience else { throw PeerError.silent }
            allowed = readyCount == 0 ? 1 : Self.handshakeLimit
        }
    }

    /// Waits for what comes, at most `nanoseconds`, and hands over what it meant: with the link's index and the moment
    /// at which it was read.
    func turn(nanoseconds: Int64, _ onReceipts: (Int, borrowing Receipts, Int64) -> Void) throws {
        for number in 0..<(try poller.wait(nanoseconds: nanoseconds)) {
            let event = poller.event(number)
            let index = Int(event.token)
            if event.isWritable { try links[index].flush() }
            if event.isReadable {
                let moment = try links[index].receive(using: &buffer, &receipts)
                if receipts.isReady && !links[index].isReady {
                    links[index].isReady = true
                    readyCount += 1
                }
                onReceipts(index, receipts, moment)
                receipts.isReady = false
                receipts.confirmed = 0
                receipts.delivered.removeAll(keepingCapacity: true)
            }
            try watchWrites(index)
        }
    }

    /// Sends what a publisher has encoded, with one write.
    func send(_ bytes: [UInt8], over index: Int) throws {
        try links[index].send(bytes)
        try watchWrites(index)
    }

    private func dial(_ part: Part) throws {
        let socket = try destination.connect(timeoutMilliseconds: 10_000)
        let secure = try SecureLink(socket: socket, context: context, transport: transport, host: load.host)
        let link = try PeerLink(secure, conversation: Talk(part))
        try poller.add(link.number, token: UInt64(links.count), for: .read)
        links.append(link)
    }

    private func watchWrites(_ index: Int) throws {
        let link = links[index]
        guard link.hasUnsent != link.isWatchingWrites else { return }
        link.isWatchingWrites = link.hasUnsent
        try poller.change(link.number, token: UInt64(index), for: link.hasUnsent ? [.read, .write] : .read)
    }
}
