/// One connection's half of a peer's protocol. It takes bytes, keeps count and says what to send; it does no I/O.
protocol Conversation {
    /// Whether the server speaks first, in plain text, and TLS begins only after its line.
    static var isGreeted: Bool { get }
    /// Whether the server confirms each message to the publisher.
    static var confirms: Bool { get }

    init(_ part: Part)

    /// What to send first, as soon as the connection is secure.
    mutating func begin(into output: inout [UInt8])

    /// Takes what came, and returns how many of the bytes it has done with; the rest comes again with what follows.
    mutating func receive(_ bytes: Span<UInt8>, _ receipts: inout Receipts) throws(PeerError) -> Int

    /// Encodes message `number` for the subscriber with that index.
    mutating func publish(_ number: Int, to subscriber: Int, into output: inout [UInt8])
}

/// What one connection is there for.
struct Part: Sendable {
    /// Which side of the messages.
    enum Role: Sendable { case publisher, subscriber }

    let role: Role
    /// Among those of its role, from 0.
    let index: Int
    let load: LoadOptions
    let payload: Payload
}

/// What the bytes that came meant. Filled by a conversation, emptied by whoever runs it.
struct Receipts {
    let payload: Payload
    /// The server has accepted this connection and its subscription.
    var isReady = false
    /// Messages that the server has confirmed to the publisher.
    var confirmed = 0
    /// The numbers of the messages that were delivered.
    var delivered: [Int] = []
    /// What to send to the server.
    var answers: [UInt8] = []

    init(_ payload: Payload) { self.payload = payload }

    /// Counts a message whose content is `content`, if it is one of this run.
    mutating func deliver(_ content: Span<UInt8>) throws(PeerError) {
        if let number = try payload.number(in: content) { delivered.append(number) }
    }
}

/// Why a load ended before it was done.
enum PeerError: Error, Equatable, CustomStringConvertible {
    /// The server said something that it may not say, or refused what was asked.
    case refused(String)
    /// The server closed a connection.
    case closed
    /// The connection is not TLS 1.3.
    case version(String)
    /// Nothing was heard while connections were being made.
    case silent

    var description: String {
        switch self {
        case .refused(let reason): reason
        case .closed: "the server closed a connection"
        case .version(let version): "the connection is \(version), not TLSv1.3"
        case .silent: "the server did not answer in time"
        }
    }
}
