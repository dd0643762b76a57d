import Client
import Reactor

/// One TLS 1.3 connection to a peer, and what is spoken on it.
final class PeerLink<Talk: Conversation> {
    private let link: SecureLink
    private(set) var conversation: Talk
    /// The server has accepted it.
    var isReady = false
    /// What the poller was last told.
    var isWatchingWrites = false

    /// The conversation has said its first word.
    private var hasSpoken = false
    /// Plaintext that is not a whole message yet.
    private var pending: [UInt8] = []

    /// Begins the handshake, or waits for the server's line if the protocol has one.
    init(_ link: SecureLink, conversation: Talk) throws {
        self.link = link
        self.conversation = conversation
        if !Talk.isGreeted { try link.begin() }
    }

    var number: Int32 { link.number }
    var hasUnsent: Bool { link.unsentCount > 0 }

    /// Reads once into `buffer`, has the conversation take what came, and sends its answers with one write. Returns
    /// the moment at which the bytes could be read, as for the devices of our own gateway.
    func receive(using buffer: inout [UInt8], _ receipts: inout Receipts) throws -> Int64 {
        let isGreeting = !link.hasBegun
        let bytes = try link.receive(using: &buffer)
        let moment = Clock.monotonic()
        if isGreeting { try greet(bytes) } else { try take(bytes.span, &receipts) }
        guard !link.hasEnded else { throw PeerError.closed }
        if !hasSpoken && link.isEstablished {
            guard link.version == "TLSv1.3" else { throw PeerError.version(link.version) }
            hasSpoken = true
            conversation.begin(into: &receipts.answers)
        }
        if !receipts.answers.isEmpty {
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
    func send(_ plaintext: [UInt8]) throws { try link.send(plaintext) }

    /// Sends what waits, as far as the kernel takes it.
    func flush() throws { try link.flush() }

    /// Waits for the end of the line that the server sends in plain text, and then begins the handshake.
    private func greet(_ bytes: ArraySlice<UInt8>) throws {
        pending += bytes
        guard pending.last == UInt8(ascii: "\n") else { return }
        pending = []
        try link.begin()
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
