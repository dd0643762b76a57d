/// NATS with JetStream: one stream in a file, which confirms each message, and for each subscriber a durable push
/// consumer that wants each message acknowledged. What is acknowledged leaves the stream, as it leaves our queue.
struct JetStreamConversation: Conversation {
    static let isGreeted = true
    static let confirms = true

    /// The number of the subscription to which the server's answers come.
    private static let answers = 1
    /// The number of the subscription to which messages come.
    private static let deliveries = 2
    private static let stream = "LOAD"

    private let part: Part
    private let messages: NATSMessages
    /// Answers that must come before the connection is ready.
    private var awaited: Int

    init(_ part: Part) {
        self.part = part
        messages = NATSMessages(part, reply: Self.inbox(part))
        switch part.role {
        // The first one makes the stream: an answer about the old one, and one about the new.
        case .publisher: awaited = part.index == 0 ? 2 : 0
        case .subscriber: awaited = 1
        }
    }

    mutating func begin(into output: inout [UInt8]) {
        output += natsConnect
        append("SUB \(Self.inbox(part)) \(Self.answers)\r\n", to: &output)
        switch part.role {
        case .publisher where part.index == 0:
            request("STREAM.DELETE.\(Self.stream)", "", into: &output)
            request("STREAM.CREATE.\(Self.stream)", Self.streamConfiguration, into: &output)
        case .publisher:
            append("PING\r\n", to: &output)
        case .subscriber:
            append("SUB deliver.\(part.index) \(Self.deliveries)\r\n", to: &output)
            let name = "consumer-\(part.index)"
            request("CONSUMER.DURABLE.CREATE.\(Self.stream).\(name)", consumerConfiguration(name), into: &output)
        }
    }

    mutating func receive(_ bytes: Span<UInt8>, _ receipts: inout Receipts) throws(PeerError) -> Int {
        var start = 0
        while let (frame, end) = try NATSFrame.next(in: bytes, from: start) {
            switch frame {
            case .message(Self.deliveries, let reply, let content):
                acknowledge(bytes.extracting(reply), &receipts.answers)
                try receipts.deliver(bytes.extracting(content))
            case .message(_, _, let content):
                try takeAnswer(bytes.extracting(content), &receipts)
            case .ping: append("PONG\r\n", to: &receipts.answers)
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

    private mutating func takeAnswer(_ content: Span<UInt8>, _ receipts: inout Receipts) throws(PeerError) {
        guard awaited > 0 else {
            // {"stream":... or {"error":...
            guard content.count > 2, content[2] == UInt8(ascii: "s") else { throw refusal(content) }
            receipts.confirmed += 1
            return
        }
        awaited -= 1
        guard awaited == 0 else { return }
        if String(copying: content).contains(#""error""#) { throw refusal(content) }
        receipts.isReady = true
    }

    /// An empty answer to a message is its acknowledgement.
    private func acknowledge(_ reply: Span<UInt8>, _ output: inout [UInt8]) {
        append("PUB ", to: &output)
        reply.withUnsafeBufferPointer { output.append(contentsOf: $0) }
        append(" 0\r\n\r\n", to: &output)
    }

    private func request(_ name: String, _ body: String, into output: inout [UInt8]) {
        append("PUB $JS.API.\(name) \(Self.inbox(part)) \(body.utf8.count)\r\n\(body)\r\n", to: &output)
    }

    private func append(_ text: String, to output: inout [UInt8]) { output.append(contentsOf: text.utf8) }

    private func refusal(_ content: Span<UInt8>) -> PeerError { .refused("JetStream said \(String(copying: content))") }

    private static func inbox(_ part: Part) -> String {
        part.role == .publisher ? "inbox.publisher.\(part.index)" : "inbox.subscriber.\(part.index)"
    }

    private static let streamConfiguration = #"""
        {"name":"LOAD","subjects":["load.*"],"retention":"workqueue","storage":"file","num_replicas":1,\#
        "max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":0,"discard":"old"}
        """#

    private func consumerConfiguration(_ name: String) -> String {
        #"""
        {"stream_name":"LOAD","config":{"durable_name":"\#(name)","deliver_subject":"deliver.\#(part.index)",\#
        "filter_subject":"\#(NATSMessages.subject(part.index))","deliver_policy":"all","ack_policy":"explicit",\#
        "ack_wait":30000000000,"replay_policy":"instant"}}
        """#
    }
}

extension String {
    /// The text of bytes that are UTF-8.
    init(copying bytes: Span<UInt8>) {
        self = bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
