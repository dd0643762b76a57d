import Reactor
import TLS
import Wire

/// One TLS connection of a device. It owns its socket; the transport belongs to the thread and serves all its links.
final class CourierLink {
    /// What a gateway may send in one frame: as much as it may be sent.
    private static let frameLimit = 262_144
    /// Bytes that wait for a gateway that does not read. Acknowledgements are 16 bytes each, so this is very many.
    private static let unsentLimit = 1_048_576

    private let socket: FileDescriptor
    private let session: TLSSession
    private let transport: TLSTransport
    private var decoder = ServerFrameDecoder(frameLimit: frameLimit)
    private var unsent: [UInt8] = []
    /// The gateway will send no more. What came before can still be read with `next`.
    private(set) var hasEnded = false

    /// Takes a connected socket and begins the handshake.
    init(
        socket: consuming FileDescriptor,
        context: TLSContext,
        transport: TLSTransport,
        host: String
    ) throws(CourierError) {
        self.socket = socket
        self.transport = transport
        session = try secure { () throws(TLSError) in
            try TLSSession(client: context, transport: transport, host: host)
        }
        try secure { () throws(TLSError) in try session.start() }
        try flush()
    }

    var number: Int32 { socket.number }
    var isEstablished: Bool { session.isEstablished }
    var hasUnsent: Bool { !unsent.isEmpty }

    /// Reads once into `buffer` and decrypts; `next` then returns what came.
    func receive(using buffer: inout [UInt8]) throws(CourierError) {
        guard let count = try system({ () throws(SystemError) in try socket.read(into: &buffer) }) else { return }
        guard count > 0 else {
            hasEnded = true
            return
        }
        try decrypt(buffer.span.extracting(0..<count))
    }

    /// The next frame of the gateway; nil when there is none yet.
    func next() throws(CourierError) -> ServerMessage? {
        do { return try decoder.next() } catch { throw .wire(error) }
    }

    /// Encrypts and sends. What the kernel does not take at once waits for `flush`.
    func send(_ plaintext: [UInt8]) throws(CourierError) {
        try secure { () throws(TLSError) in try session.send(plaintext.span) }
        try flush()
    }

    /// Signs this connection with the device's key: the first thing to send.
    func connect(_ credentials: CourierCredentials, baseToken: [UInt8]?, milliseconds: Int64) throws(CourierError) {
        let nonce = CourierCredentials.nonce(milliseconds: milliseconds, random: SecureRandom.bytes(8))
        let exporter: [UInt8]? =
            session.alpn == DeviceProtocol.extended
            ? try secure { () throws(TLSError) in
                let label = DeviceProtocol.exporterLabel
                return try session.exporter(label: label, context: [], count: DeviceProtocol.exporterCount)
            } : nil
        let connect = try secure { () throws(TLSError) in
            try credentials.connect(baseToken: baseToken, nonce: nonce, exporter: exporter)
        }
        var frame: [UInt8] = []
        DeviceMessage.connect(connect).encode(into: &frame)
        try send(frame)
    }

    /// Sends what waits, as far as the kernel takes it.
    func flush() throws(CourierError) {
        // Emptied whatever happens: the next link that uses the transport must not send this one's bytes.
        defer { transport.outgoing.removeAll(keepingCapacity: true) }
        if unsent.isEmpty {
            let outgoing = transport.outgoing
            guard !outgoing.isEmpty else { return }
            let count = try push(outgoing)
            if count < outgoing.count { unsent = Array(outgoing[count...]) }
        } else {
            unsent.append(contentsOf: transport.outgoing)
            unsent.removeFirst(try push(unsent))
        }
        guard unsent.count <= Self.unsentLimit else { throw .stalled }
    }

    private func push(_ bytes: [UInt8]) throws(CourierError) -> Int {
        do { return try socket.send(bytes.span) } catch { throw .system(error.description) }
    }

    /// Says goodbye in TLS and TCP. The descriptor closes when the link goes.
    func close() {
        session.shutdown()
        // A gateway that is gone need not be told.
        try? flush()
        socket.endWriting()
    }

    private func decrypt(_ ciphertext: Span<UInt8>) throws(CourierError) {
        let count: Int
        do {
            count = try session.receive(ciphertext)
        } catch {
            // The alert that tells the gateway why; if it cannot be sent, our error still says it.
            try? flush()
            throw .tls(error)
        }
        let plaintext = transport.plaintext
        decoder.append(plaintext.span.extracting(0..<count))
        hasEnded = session.isPeerClosed
        try flush()
    }
}
