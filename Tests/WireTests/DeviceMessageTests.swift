import Testing

@testable import Wire

@Suite struct DeviceMessageTests {
    static let token32 = String(repeating: "11", count: 32)

    @Test(arguments: deviceSamples)
    func `a device's message survives the wire`(_ message: DeviceMessage) throws {
        #expect(try deviceMessages(message.encoded) == [message])
    }

    @Test func `a device's messages come out the same however the stream is cut`() throws {
        let stream = deviceSamples.flatMap(\.encoded)
        for cut in 1...stream.count { #expect(try deviceMessages(stream, cut: cut) == deviceSamples, "cut \(cut)") }
    }

    @Test func `the frames of a real library are understood`() throws {
        let hash = "a003f1da17993ee51f2b3ceef6c6153afa8f3ec2"
        let stream =
            frame(0x07, "01 0020 \(Self.token32) 02 0001 01 05 0004 00000041 10 0002 000b")
            + hex("09 00000023 01 0020 \(Self.token32)")
            + hex("09 0000003a 01 0020 \(Self.token32) 02 0014 \(hash)")
            + hex("11 0000003a 01 0020 \(Self.token32) 02 0014 \(hash)")
            + frame(0x0b, "04 0004 00000007 08 0001 00 01 0020 \(Self.token32)") + hex("0c 00000000")
        let expected: [DeviceMessage] = [
            .connect(Connect(baseToken: base, state: 1, protocolVersion: 11)), .filter(Filter(baseToken: base)),
            .filter(Filter(baseToken: base, enabled: [topic])),
            .tokenRequest(TokenRequest(baseToken: base, topicHash: topic)), .notifyAck(NotifyAck(id: 7, status: 0)),
            .keepAlive(intervalMinutes: nil),
        ]
        #expect(try deviceMessages(stream) == expected)
    }

    @Test func `we write what a real library writes`() {
        let connect = DeviceMessage.connect(Connect(baseToken: base, state: 1, protocolVersion: 11))
        #expect(
            connect.encoded == frame(0x07, "01 0020 \(Self.token32) 02 0001 01 05 0004 00000041 10 0002 000b")
        )
    }

    @Test func `a filter may list more than a thousand topics`() throws {
        let topics = (0..<2_000).map(otherTopic)
        let filter = DeviceMessage.filter(Filter(baseToken: base, enabled: topics, paused: topics))
        #expect(try deviceMessages(filter.encoded, limit: 262_144) == [filter])
    }

    @Test func `a filter that gives its lists' id once is understood`() throws {
        let stream = frame(
            0x09,
            "02 0014 \(String(repeating: "01", count: 20)) 0014 \(String(repeating: "02", count: 20))"
                + "03 0014 \(String(repeating: "00", count: 20)) 01 0005 1111111111"
        )
        let expected = Filter(
            baseToken: [0x11, 0x11, 0x11, 0x11, 0x11],
            enabled: [1, 2].compactMap { TopicHash([UInt8](repeating: $0, count: 20)) },
            ignored: [.zero]
        )
        #expect(try deviceMessages(stream) == [.filter(expected)])
    }

    @Test(arguments: [
        ("05 0002 3135", 15), ("05 0002 000f", 15), ("05 0002 012c", 300), ("05 0002 ffff", nil), ("05 0001 0f", nil),
        ("01 0004 57694669", nil),
    ])
    func `a keep-alive interval is two digits or a number`(_ item: String, _ minutes: Int?) throws {
        #expect(try deviceMessages(frame(0x0c, item)) == [.keepAlive(intervalMinutes: minutes)])
    }

    @Test func `unknown items are ignored and the last of two counts`() throws {
        #expect(try deviceMessages(hex("14 0000000f 01 0001 02 c8 0001 00 02 0000 01 0001 01")) == [.setState(1)])
    }

    @Test(arguments: [
        "14 00000000", "14 00000005 01 0002 0101", "14 00000002 0100", "14 00000004 01 0002 01", "11 00000000",
        "11 00000004 02 0001 00", "07 00000005 02 0002 0101", "09 00000004 02 0001 00", "0b 00000003 08 0000",
        "c9 00000000",
    ])
    func `a known command with a wrong body breaks the stream for good`(_ frame: String) {
        let bytes = hex(frame)
        var decoder = FrameDecoder(frameLimit: 16_384)
        decoder.append(bytes.span)
        #expect(throws: WireError.malformed(command: bytes[0])) { try decoder.next() }
        decoder.append(hex("0c 00000000").span)
        #expect(throws: WireError.malformed(command: bytes[0])) { try decoder.next() }
    }

    @Test(arguments: [("0000", UInt32?.none), ("0004 00000009", 9), ("0005 0000000009", nil)])
    func `an acknowledgement's id has four bytes or is none`(_ item: String, _ id: UInt32?) throws {
        #expect(try deviceMessages(frame(0x0b, "04" + item)) == [.notifyAck(NotifyAck(id: id, status: 0))])
    }
}
