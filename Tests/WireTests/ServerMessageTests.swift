import PushCore
import Testing

@testable import Wire

@Suite struct ServerMessageTests {
    @Test(arguments: serverSamples)
    func `a server's message survives the wire`(_ message: ServerMessage) throws {
        #expect(try serverMessages(message.encoded) == [message])
    }

    @Test func `a server's messages come out the same however the stream is cut`() throws {
        let stream = serverSamples.flatMap(\.encoded)
        for cut in 1...stream.count { #expect(try serverMessages(stream, cut: cut) == serverSamples, "cut \(cut)") }
    }

    @Test func `the answer to Connect holds all that clients insist on`() {
        let ack = ServerMessage.connectAck(ConnectAck(status: 0, token: base, serverTimeMilliseconds: 0x0102_0304))
        let expected =
            "08 00000048 01 0001 00 03 0020 \(String(repeating: "11", count: 32)) 04 0002 1400 05 0002 0002"
            + "06 0004 00000000 08 0002 3c00 0a 0008 0000000001020304"
        #expect(ack.encoded == hex(expected))
    }

    @Test func `a plain notification holds its nine items and no other`() {
        let expected =
            "0a 0000008b 01 0020 \(String(repeating: "22", count: 32)) 02 0014 a003f1da17993ee51f2b3ceef6c6153afa8f3ec2"
            + "03 000a 7b22617073223a7b7d7d 04 0004 deadbeef 05 0004 6b49d200 06 0008 17979cfe3d85cd15 07 0001 03"
            + "0d 0001 05 0f 0020 \(String(repeating: "11", count: 32))"
        #expect(ServerMessage.notify(sampleNotify(extended: false)).encoded == hex(expected))
    }

    @Test func `the smallest frames of a server are understood`() throws {
        let stream = hex(
            "12 00000022 01 0001 00 02 0004 22222222 03 0014 a003f1da17993ee51f2b3ceef6c6153afa8f3ec2"
                + "0d 00000000 0e 00000000"
                + "0a 0000001e 02 0014 a003f1da17993ee51f2b3ceef6c6153afa8f3ec2 04 0004 00000001"
        )
        let messages = try serverMessages(stream)
        #expect(messages.count == 4)
        #expect(messages[0] == .tokenAck(status: 0, token: [0x22, 0x22, 0x22, 0x22], topicHash: topic))
        #expect(messages[1] == .keepAliveAck)
        #expect(messages[2] == .noStorage(token: []))
    }

    @Test(arguments: [
        "08 00000000", "12 00000004 01 0001 00", "0a 00000000", "0a 00000007 06 0004 00000000", "1d 00000000",
        "c8 00000004 d3 0001 ff", "ca 00000000", "cb 00000000", "0e 00000001 01",
    ])
    func `a known command with a wrong body breaks the stream for good`(_ frame: String) {
        let bytes = hex(frame)
        var decoder = ServerFrameDecoder(frameLimit: 16_384)
        decoder.append(bytes.span)
        #expect(throws: WireError.malformed(command: bytes[0])) { try decoder.next() }
        decoder.append(hex("0d 00000000").span)
        #expect(throws: WireError.malformed(command: bytes[0])) { try decoder.next() }
    }

    @Test func `many notifications in one array are as good as one by one`() throws {
        var stream: [UInt8] = []
        for _ in 0..<100 { ServerMessage.notify(sampleNotify(extended: true)).encode(into: &stream) }
        #expect(try serverMessages(stream).count == 100)
    }

    @Test func `each extended item of a notification stands for itself`() throws {
        for item in 0..<4 {
            var notify = sampleNotify(extended: false)
            switch item {
            case 0: notify.topicName = "com.example.app"
            case 1: notify.uniqueID = UniqueID(high: 1, low: 2)
            case 2: notify.collapseID = Array("c".utf8)
            default: notify.pushType = "alert"
            }
            var decoder = ServerFrameDecoder(frameLimit: 4096)
            decoder.append(ServerMessage.notify(notify).encoded.span)
            #expect(try decoder.next() == .notify(notify))
        }
    }
}
