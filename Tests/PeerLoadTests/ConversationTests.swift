import Testing

@testable import peerload

@Suite struct ConversationTests {
    private func publication(_ number: Int) -> [UInt8] {
        var content: [UInt8] = []
        Payload(run: 1, count: 24).append(number, to: &content)
        return content
    }

    @Test func `a subscriber of MQTT subscribes, and acknowledges what comes`() throws {
        let part = try Part.sample(.subscriber, index: 3)
        var (conversation, receipts) = (MQTTConversation(part), Receipts(part.payload))
        let accepted: [UInt8] = [0x20, 2, 0, 0, 0x90, 3, 0, 1, 1]
        #expect(try conversation.receive(accepted.span, &receipts) == accepted.count)
        #expect(receipts.isReady)
        receipts.answers = []
        var message: [UInt8] = []
        MQTTPacket.appendPublish(topic: Array("load/3".utf8), id: 513, contentCount: 24, to: &message)
        message += publication(9)
        #expect(try conversation.receive(message.span, &receipts) == message.count)
        #expect(receipts.delivered == [9])
        #expect(receipts.answers == [0x40, 2, 2, 1])
    }

    @Test func `a refused subscription ends the load`() throws {
        let part = try Part.sample(.subscriber)
        var (conversation, receipts) = (MQTTConversation(part), Receipts(part.payload))
        let refusal: [UInt8] = [0x90, 3, 0, 1, 0x80]
        #expect(throws: PeerError.self) { try conversation.receive(refusal.span, &receipts) }
    }

    @Test func `what NATS delivers is counted, and the start of the next message waits`() throws {
        let part = try Part.sample(.subscriber)
        var (conversation, receipts) = (NATSConversation(part), Receipts(part.payload))
        let whole = Array("MSG load.0 1 24\r\n".utf8) + publication(5) + Array("\r\n".utf8)
        let bytes = whole + whole.prefix(20)
        #expect(try conversation.receive(bytes.span, &receipts) == whole.count)
        #expect(receipts.delivered == [5])
        #expect(receipts.answers == [])
    }

    @Test func `a subscriber of JetStream acknowledges where the message says`() throws {
        let part = try Part.sample(.subscriber)
        var (conversation, receipts) = (JetStreamConversation(part), Receipts(part.payload))
        let text = "MSG inbox.subscriber.0 1 2\r\n{}\r\nMSG load.0 2 $JS.ACK.7 24\r\n"
        let bytes = Array(text.utf8) + publication(8) + Array("\r\n".utf8)
        #expect(try conversation.receive(bytes.span, &receipts) == bytes.count)
        #expect(receipts.isReady)
        #expect(receipts.delivered == [8])
        #expect(receipts.answers == Array("PUB $JS.ACK.7 0\r\n\r\n".utf8))
    }

    @Test func `a publisher of JetStream takes an error for what it is`() throws {
        let part = try Part.sample(.publisher, index: 1)
        var (conversation, receipts) = (JetStreamConversation(part), Receipts(part.payload))
        let good = Array("MSG i 1 11\r\n{\"stream\":1\r\n".utf8)
        #expect(try conversation.receive(good.span, &receipts) == good.count)
        #expect(receipts.confirmed == 1)
        let bad = Array("MSG i 1 11\r\n{\"error\":{}\r\n".utf8)
        #expect(throws: PeerError.self) { try conversation.receive(bad.span, &receipts) }
    }

    @Test func `a subscriber of nchan changes to frames in the middle of what comes`() throws {
        let part = try Part.sample(.subscriber)
        var (conversation, receipts) = (NchanConversation(part), Receipts(part.payload))
        let bytes = Array("HTTP/1.1 101 Switching Protocols\r\n\r\n".utf8) + [0x81, 24] + publication(6) + [0x89, 0]
        #expect(try conversation.receive(bytes.span, &receipts) == bytes.count)
        #expect(receipts.isReady)
        #expect(receipts.delivered == [6])
        #expect(receipts.answers == [0x8a, 0x80, 0, 0, 0, 0])
    }
}
