package import Reactor
package import TLS

/// One TLS connection of a client. It owns its socket; the transport belongs to the thread and serves all its links.
package final class SecureLink {
    /// Bytes that wait for a peer that does not read. What we write is bounded elsewhere; this is beyond all of it.
    private static let unsentLimit = 64 << 20

    private static let connectMilliseconds: Int32 = 10_000

    private let socket: FileDescriptor
    private let session: TLSSession
    private let transport: TLSTransport
    private var unsent: [UInt8] = []
    /// The handshake has begun.
    package private(set) var hasBegun = false
    /// The peer will send no more. What came before is still there.
    package private(set) var hasEnded = false

    /// Takes a connected socket, for `begin`.
    package init(
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
    }

    /// Connects, which blocks, and begins the handshake. With `source` it connects from 127.0.0.`source`.
    convenience init(
        to destination: Destination,
        context: TLSContext,
        transport: TLSTransport,
        source: UInt8? = nil
    ) throws(CourierError) {
        let socket = try system { () throws(SystemError) in
            try destination.connect(timeoutMilliseconds: Self.connectMilliseconds, source: source)
        }
        try self.init(socket: socket, context: context, transport: transport, host: destination.host)
        try begin()
    }

    /// Connects, which blocks, and begins the handshake with the ticket of an earlier link, if there is one.
    convenience init(
        to destination: Destination,
        context: TLSContext,
        transport: TLSTransport,
        resuming ticket: TLSTicket?
    ) throws(CourierError) {
        let socket = try system { () throws(SystemError) in
            try destination.connect(timeoutMilliseconds: Self.connectMilliseconds, source: nil)
        }
        try self.init(socket: socket, context: context, transport: transport, host: destination.host)
        if let ticket { try secure { () throws(TLSError) in try session.offer(ticket) } }
        try begin()
    }

    /// Its descriptor, for a poller.
    package var number: Int32 { socket.number }
    /// The handshake is done.
    package var isEstablished: Bool { session.isEstablished }
    /// Which TLS it is, such as TLSv1.3.
    package var version: String { session.version }
    /// What the next link to the same server may offer; nil if nothing.
    var ticket: TLSTicket? { session.ticket }
    /// Whether a ticket spared it the certificate.
    var wasResumed: Bool { session.wasResumed }
    /// What ALPN chose, if anything.
    var alpn: String? { session.alpn }
    /// Bytes that wait for `flush`.
    package var unsentCount: Int { unsent.count }

    /// Begins the handshake, once.
    package func begin() throws(CourierError) {
        precondition(!hasBegun, "a handshake begins once")
        hasBegun = true
        try secure { () throws(TLSError) in try session.start() }
        try flush()
    }

    /// Reads once into `buffer`, decrypts, and returns what came: it stays until the transport is used again. Before
    /// `begin` it is what a server says in plain text.
    package func receive(using buffer: inout [UInt8]) throws(CourierError) -> ArraySlice<UInt8> {
        guard let count = try system({ () throws(SystemError) in try socket.read(into: &buffer) }) else { return [] }
        guard count > 0 else {
            hasEnded = true
            return []
        }
        guard hasBegun else { return buffer[..<count] }
        return try decrypt(buffer.span.extracting(0..<count))
    }

    /// Encrypts and sends. What the kernel does not take at once waits for `flush`.
    package func send(_ plaintext: [UInt8]) throws(CourierError) {
        do { try session.send(plaintext.span) } catch { throw .tls(error) }
        try flush()
    }

    /// Keying material that only this connection's two ends know.
    func exporter(label: String, count: Int) throws(CourierError) -> [UInt8] {
        try secure { () throws(TLSError) in try session.exporter(label: label, context: [], count: count) }
    }

    /// Sends what waits, as far as the kernel takes it.
    package func flush() throws(CourierError) {
        // Emptied whatever happens: the next link that uses the transport must not send this one's bytes.
        defer { transport.outgoing.removeAll(keepingCapacity: true) }
        if unsent.isEmpty {
            guard !transport.outgoing.isEmpty else { return }
            let count = try push(transport.outgoing)
            if count < transport.outgoing.count { unsent = Array(transport.outgoing[count...]) }
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
        // A peer that is gone need not be told.
        try? flush()
        socket.endWriting()
    }

    /// Lets the connection end in a reset, at once and without a goodbye, when the link goes.
    func resetOnClose() throws(CourierError) {
        try system { () throws(SystemError) in try socket.resetOnClose() }
    }

    private func decrypt(_ ciphertext: Span<UInt8>) throws(CourierError) -> ArraySlice<UInt8> {
        let count: Int
        do {
            count = try session.receive(ciphertext)
        } catch {
            // The alert that tells the peer why; if it cannot be sent, our error still says it.
            try? flush()
            throw .tls(error)
        }
        hasEnded = session.isPeerClosed
        try flush()
        return transport.plaintext[..<count]
    }
}
