import Testing

@testable import peerload

@Suite struct MQTTPacketTests {
    @Test func `a connect is what the standard shows`() {
        var output: [UInt8] = []
        MQTTPacket.appendConnect(client: "ab", persistent: false, to: &output)
        #expect(output == [0x10, 14, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 0, 0, 2, 0x61, 0x62])
    }

    @Test func `a subscription asks for at least once`() {
        var output: [UInt8] = []
        MQTTPacket.appendSubscribe(topic: "a/b", id: 258, to: &output)
        #expect(output == [0x82, 8, 1, 2, 0, 3, 0x61, 0x2f, 0x62, 1])
    }

    @Test(arguments: [0, 1, 119, 120, 16_375, 16_376, 70_000])
    func `a message of any length is one packet`(_ count: Int) throws {
        var output: [UInt8] = []
        MQTTPacket.appendPublish(topic: Array("load".utf8), id: 7, contentCount: count, to: &output)
        output += [UInt8](repeating: 0, count: count)
        let frame = try #require(try MQTTPacket.frame(in: output.span, from: 0))
        #expect(frame.head == 0x32)
        #expect(frame.body.count == count + 8)
        #expect(frame.body.upperBound == output.count)
    }

    @Test func `a packet that is cut anywhere needs more bytes`() throws {
        var output: [UInt8] = []
        MQTTPacket.appendPublish(topic: Array("load".utf8), id: 7, contentCount: 200, to: &output)
        output += [UInt8](repeating: 0, count: 200)
        for end in output.indices {
            #expect(try MQTTPacket.frame(in: output.span.extracting(..<end), from: 0) == nil)
        }
    }

    @Test func `a length of five bytes is refused`() {
        let bytes: [UInt8] = [0x30, 0x80, 0x80, 0x80, 0x80, 1]
        #expect(throws: PeerError.self) { try MQTTPacket.frame(in: bytes.span, from: 0) }
    }
}
