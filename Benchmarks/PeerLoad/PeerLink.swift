import Reactor
import TLS

/// One TLS 1.3 connection to a peer, and what is spoken on it. It owns its socket; the transport serves all links.
final class PeerLink<Talk: Conversation> {
    private let socket: FileDescriptor
    private let session: TLSSession
    private let transport: TLSTransport
    private(set) var conversation: Talk
    /// The server has accepted it.
    var isReady = false
    /// What the poller was last told.
    var isWatchingWrites = false

    private var isGreeted: Bool
    private var hasBegun = false
    /// Plaintext that is not a whole message yet.
    private var pending: [UInt8] = []
    private var unsent: [UInt8] = []

    /// Takes a connected socket and begins the handshake, or waits for the server's line if the protocol has one.
    init(
        socket: consuming FileDescriptor,
        session: TLSSession,
        transport: TLSTransport,
        conversation: Talk
    ) throws {
        self.socket = socket
        self.session = session
        self.transport = transport
        self.conversation = conversation
        isGreeted = !Talk.isGreeted
        if isGreeted {
            try session.start()
            try flush()
        }
    }

    var number: Int32 { socket.number }
    var hasUnsent: Bool { !unsent.isEmpty }

    /// Reads once into `buffer`, has the conversation take what came, and sends its answers with one write. Returns
    /// the moment at which the bytes were there.
    func receive(using buffer: inout [UInt8], _ receipts: inout Receipts) throws -> Int64 {
        guard let count = try socket.read(into: &buffer) else { return Clock.monotonic() }
        let moment = Clock.monotonic()
        guard count > 0 else { throw PeerError.closed }
        guard isGreeted else {
            try greet(buffer.span.extracting(0..<count))
            return moment
        }
        try decrypt(buffer.span.extracting(0..<count), &receipts)
        if !hasBegun && session.isEstablished {
            guard session.version == "TLSv1.3" else { throw PeerError.version(session.version) }
            hasBegun = true
            conversation.begin(into: &receipts.answers)
        }
        if receipts.answers.isEmpty {
            try flush()
        } else {
            try send(receipts.answers)
            receipts.answers.removeAll(keepingCapacity: true)
        }
        return moment
    }

    /// Appends a message to `output`.
    func publish(_ number: Int, to subscriber: Int, into output: inout [UInt8]) {
        conversation.publish(number, to: subscriber, into: &output)
    }

    /// Encrypts and sends. What the kernel does not take at once waits for `flush`.
    func send(_ plaintext: [UInt8]) throws {
        try session.send(plaintext.span)
        try flush()
    }

    /// Sends what waits, as far as the kernel takes it.
    func flush() throws {
        // Emptied whatever happens: the next link that uses the transport must not send this one's bytes.
        defer { transport.outgoing.removeAll(keepingCapacity: true) }
        if unsent.isEmpty {
            let outgoing = transport.outgoing
            guard !outgoing.isEmpty else { return }
            let count = try socket.send(outgoing.span)
            if count < outgoing.count { unsent = Array(outgoing[count...]) }
        } else {
            let bytes = unsent + transport.outgoing
            unsent = Array(bytes[(try socket.send(bytes.span))...])
        }
    }

    /// Waits for the end of the line that the server sends in plain text, and then begins the handshake.
    private func greet(_ bytes: Span<UInt8>) throws {
        for index in bytes.indices { pending.append(bytes[index]) }
        guard pending.last == UInt8(ascii: "\n") else { return }
        pending = []
        isGreeted = true
        try session.start()
        try flush()
    }

    private func decrypt(_ ciphertext: Span<UInt8>, _ receipts: inout Receipts) throws {
        let count: Int
        do {
            count = try session.receive(ciphertext)
        } catch {
            // The alert that tells the server why; if it cannot be sent, our error still says it.
            try? flush()
            throw error
        }
        let plaintext = transport.plaintext
        try take(plaintext.span.extracting(0..<count), &receipts)
        if session.isPeerClosed { throw PeerError.closed }
    }

    /// Copies only what is not whole: most turns bring whole messages.
    private func take(_ plaintext: Span<UInt8>, _ receipts: inout Receipts) throws {
        guard !pending.isEmpty else {
            let done = try conversation.receive(plaintext, &receipts)
            if done < plaintext.count {
                plaintext.extracting(done...).withUnsafeBufferPointer { pending.append(contentsOf: $0) }
            }
            return
        }
        var bytes = pending
        pending = []
        plaintext.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        bytes.removeFirst(try conversation.receive(bytes.span, &receipts))
        pending = bytes
    }
}
