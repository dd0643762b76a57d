/// NATS as it is without JetStream: what nobody confirms, delivered at most once.
struct NATSConversation: Conversation {
    static let isGreeted = true
    static let confirms = false

    private let part: Part
    private let messages: NATSMessages

    init(_ part: Part) {
        self.part = part
        messages = NATSMessages(part)
    }

    mutating func begin(into output: inout [UInt8]) {
        output += natsConnect
        if part.role == .subscriber { output += Array("SUB \(NATSMessages.subject(part.index)) 1\r\n".utf8) }
        // Its answer tells that the subscription counts.
        output += Array("PING\r\n".utf8)
    }

    mutating func receive(_ bytes: Span<UInt8>, _ receipts: inout Receipts) throws(PeerError) -> Int {
        var start = 0
        while let (frame, end) = try NATSFrame.next(in: bytes, from: start) {
            switch frame {
            case .message(_, _, let content): try receipts.deliver(bytes.extracting(content))
            case .ping: receipts.answers += Array("PONG\r\n".utf8)
            case .pong: receipts.isReady = true
            case .other: break
            }
            start = end
        }
        return start
    }

    mutating func publish(_ number: Int, to subscriber: Int, into output: inout [UInt8]) {
        messages.append(number, for: subscriber, to: &output)
    }
}

/// How each NATS connection introduces itself: without a confirmation of each line.
let natsConnect = Array(
    (#"CONNECT {"verbose":false,"pedantic":false,"tls_required":true,"lang":"swift","version":"1","protocol":1,"#
        + #""echo":false}"# + "\r\n").utf8
)
