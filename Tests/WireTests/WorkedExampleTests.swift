import Testing

@testable import Wire

/// The frames of the worked example in docs/device-protocol.md: whoever changes one changes the other.
@Suite struct WorkedExampleTests {
    static let ones = String(repeating: "11", count: 32)
    static let twos = String(repeating: "22", count: 32)
    static let hash = "a003f1da17993ee51f2b3ceef6c6153afa8f3ec2"

    static let notify = Notify(
        token: scoped,
        topicHash: topic,
        payload: Array(#"{"aps":{"alert":"Hello"}}"#.utf8),
        messageID: 42,
        expiry: 1_700_086_400,
        timestamp: 1_700_000_001_000_000_000,
        storageFlags: 0,
        priority: 10,
        baseToken: base
    )

    @Test(arguments: [
        ("14 00000004 01 0001 01", DeviceMessage.setState(1)),
        (
            "11 0000003a 01 0020 \(ones) 02 0014 \(hash)",
            .tokenRequest(TokenRequest(baseToken: base, topicHash: topic))
        ), ("09 0000003a 01 0020 \(ones) 02 0014 \(hash)", .filter(Filter(baseToken: base, enabled: [topic]))),
        ("0b 0000000b 04 0004 0000002a 08 0001 00", .notifyAck(NotifyAck(id: 42, status: 0))),
        ("0c 00000005 05 0002 3130", .keepAlive(intervalMinutes: 10)),
    ])
    func `the device's frames are those of the document`(_ bytes: String, _ message: DeviceMessage) {
        #expect(message.encoded == hex(bytes))
    }

    @Test(arguments: [
        (
            "08 00000048 01 0001 00 03 0020 \(ones) 04 0002 1400 05 0002 0002 06 0004 00000000 08 0002 3c00"
                + "0a 0008 0000018bcfe5687b",
            ServerMessage.connectAck(
                ConnectAck(status: 0, token: base, serverTimeMilliseconds: 1_700_000_000_123)
            )
        ),
        (
            "12 0000003e 01 0001 00 02 0020 \(twos) 03 0014 \(hash)",
            .tokenAck(status: 0, token: scoped, topicHash: topic)
        ), ("0e 00000023 01 0020 \(ones)", .noStorage(token: base)),
        (
            "0a 0000009a 01 0020 \(twos) 02 0014 \(hash)"
                + "03 0019 7b22617073223a7b22616c657274223a2248656c6c6f227d7d 04 0004 0000002a 05 0004 65554280"
                + "06 0008 17979cfe71c4ca00 07 0001 00 0d 0001 0a 0f 0020 \(ones)",
            .notify(notify)
        ), ("0d 00000000", .keepAliveAck),
        (
            "c8 00000012 d3 0008 53687574646f776e d4 0004 0000000c",
            .goodbye(reason: "Shutdown", retrySeconds: 12, host: nil)
        ),
    ])
    func `the server's frames are those of the document`(_ bytes: String, _ message: ServerMessage) {
        #expect(message.encoded == hex(bytes))
    }
}
