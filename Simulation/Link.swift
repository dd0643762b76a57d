import PushCore
import Reactor
import TLS

/// The far end of one connection: TLS over a pair of sockets, and a network that keeps what was said until it is
/// delivered, in whatever pieces.
final class Link {
    /// What came with one look at the socket.
    enum Reading {
        case nothing
        case plain(Int)
        case ended
    }

    let token: UInt64
    let session: TLSSession
    private let socket: FileDescriptor
    private let transport: TLSTransport
    /// Ciphertext on its way to the gateway.
    private var wire: [UInt8] = []
    /// Nobody reads what the gateway says, as when a device has left without a word.
    var isDeaf = false
    /// Something that changes what the device may be sent was said since the gateway last looked.
    var saysControl = false
    private(set) var isOver = false

    /// Begins the handshake, with the ticket of an earlier link if there is one.
    init(
        _ token: UInt64,
        socket: consuming FileDescriptor,
        secured: (context: TLSContext, transport: TLSTransport, ticket: TLSTicket?)
    ) throws(TLSError) {
        self.token = token
        self.socket = socket
        transport = secured.transport
        session = try TLSSession(client: secured.context, transport: secured.transport, host: "localhost")
        if let ticket = secured.ticket { try session.offer(ticket) }
        try session.start()
        keepOutgoing()
    }

    /// Its descriptor, for a poller.
    var number: Int32 { socket.number }
    var isEstablished: Bool { session.isEstablished }
    var waitingCount: Int { wire.count }

    /// Says something; it stays on the wire until it is delivered.
    func say(_ plain: [UInt8]) {
        guard !isOver, !plain.isEmpty else { return }
        do { try session.send(plain.span) } catch { isOver = true }
        keepOutgoing()
    }

    /// Delivers what is on the wire but for the last `held` bytes.
    func deliver(allBut held: Int = 0) {
        let count = wire.count - held
        guard count > 0, !isOver else { return }
        do throws(SystemError) {
            let bytes = wire
            let sent = try socket.send(bytes.span.extracting(0..<count))
            wire.removeFirst(sent)
        } catch {
            isOver = true
        }
    }

    /// Takes what has come.
    func read(using buffer: inout [UInt8]) -> Reading {
        do throws(SystemError) {
            guard let count = try socket.read(into: &buffer) else { return .nothing }
            guard count > 0 else { return end() }
            let bytes = buffer
            let plain = try? session.receive(bytes.span.extracting(0..<count))
            keepOutgoing()
            // A session that cannot go on is over, whatever the reason.
            guard let plain else { return end() }
            return plain == 0 && session.isPeerClosed ? end() : .plain(plain)
        } catch {
            return end()
        }
    }

    /// What `read` has brought.
    func plain(_ count: Int) -> [UInt8] { Array(transport.plaintext[..<count]) }

    /// Takes leave; what was on the wire still arrives.
    func finish() {
        session.shutdown()
        keepOutgoing()
        deliver()
        isOver = true
        socket.endWriting()
    }

    /// The network is cut: what was on the wire is lost.
    func cut() {
        wire = []
        isOver = true
    }

    private func end() -> Reading {
        isOver = true
        return .ended
    }

    private func keepOutgoing() {
        wire += transport.outgoing
        transport.outgoing.removeAll(keepingCapacity: true)
    }
}
