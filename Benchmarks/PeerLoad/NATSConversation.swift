/// NATS as it is without JetStream: what nobody confirms, delivered at most once.
struct NATSConversation: Conversation {
    static let isGreeted = true
    static let confirms = false

    private let part: Part
    /// The line in front of each message, by subscriber.
    private let lines: [[UInt8]]

    init(_ part: Part) {
        self.part = part
        guard part.role == .publisher else {
            lines = []
            return
        }
        lines = (0..<part.load.subscribers).map { Array("PUB \(Self.subject($0)) \(part.payload.count)\r\n".utf8) }
    }

    mutating func begin(into output: inout [UInt8]) {
        output += natsConnect
        if part.role == .subscriber { output += Array("SUB \(Self.subject(part.index)) 1\r\n".utf8) }
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
        output.append(contentsOf: lines[subscriber])
        part.payload.append(number, to: &output)
        output.append(UInt8(ascii: "\r"))
        output.append(UInt8(ascii: "\n"))
    }

    private static func subject(_ subscriber: Int) -> String { "load.\(subscriber)" }
}

/// How each NATS connection introduces itself: without a confirmation of each line.
let natsConnect = Array(
    (#"CONNECT {"verbose":false,"pedantic":false,"tls_required":true,"lang":"swift","version":"1","protocol":1,"#
        + #""echo":false}"# + "\r\n").utf8
)
