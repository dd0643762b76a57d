/// MQTT 3.1.1 at quality of service 1 on both sides: the server confirms to the publisher, subscribers to the server.
struct MQTTConversation: Conversation {
    static let isGreeted = false
    static let confirms = true

    private let part: Part
    private let topics: [[UInt8]]
    /// The last packet's number; 0 is none.
    private var id: UInt16 = 0

    init(_ part: Part) {
        self.part = part
        topics = part.role == .publisher ? (0..<part.load.subscribers).map { Array(Self.topic($0).utf8) } : []
    }

    mutating func begin(into output: inout [UInt8]) {
        let name = part.role == .publisher ? "publisher" : "subscriber"
        MQTTPacket.appendConnect(client: "\(name)-\(part.index)", persistent: part.load.persistent, to: &output)
    }

    mutating func receive(_ bytes: Span<UInt8>, _ receipts: inout Receipts) throws(PeerError) -> Int {
        var start = 0
        while let frame = try MQTTPacket.frame(in: bytes, from: start) {
            try take(frame.head, bytes.extracting(frame.body), &receipts)
            start = frame.body.upperBound
        }
        return start
    }

    mutating func publish(_ number: Int, to subscriber: Int, into output: inout [UInt8]) {
        // Far fewer than 65,535 are in flight, so a number that comes again is free again.
        id = id == .max ? 1 : id + 1
        let content = part.payload
        MQTTPacket.appendPublish(topic: topics[subscriber], id: id, contentCount: content.count, to: &output)
        content.append(number, to: &output)
    }

    private func take(_ head: UInt8, _ body: Span<UInt8>, _ receipts: inout Receipts) throws(PeerError) {
        switch head & 0xf0 {
        case 0x30:
            try takeMessage(head, body, &receipts)
        case MQTTPacket.publishAck where body.count == 2:
            receipts.confirmed += 1
        case MQTTPacket.connectAck where body.count == 2 && body[1] == 0:
            guard part.role == .subscriber else { return receipts.isReady = true }
            MQTTPacket.appendSubscribe(topic: Self.topic(part.index), id: 1, to: &receipts.answers)
        case MQTTPacket.subscribeAck where body.count == 3 && body[2] == 1:
            receipts.isReady = true
        default:
            throw .refused("the server sent packet type \(head >> 4), or refused with it")
        }
    }

    private func takeMessage(_ head: UInt8, _ body: Span<UInt8>, _ receipts: inout Receipts) throws(PeerError) {
        guard body.count >= 2 else { throw .refused("a message is cut short") }
        let topicEnd = 2 + Int(body[0]) << 8 + Int(body[1])
        guard head & 0x06 == 0x02, body.count >= topicEnd + 2 else { throw .refused("a message has no number") }
        MQTTPacket.appendPublishAck(body[topicEnd], body[topicEnd + 1], to: &receipts.answers)
        try receipts.deliver(body.extracting((topicEnd + 2)...))
    }

    private static func topic(_ subscriber: Int) -> String { "load/\(subscriber)" }
}
