import PushCore

@testable import Wire

/// `com.example.app`.
let topic = TopicHash(hex("a003f1da17993ee51f2b3ceef6c6153afa8f3ec2")) ?? .zero
let base = [UInt8](repeating: 0x11, count: 32)
let scoped = [UInt8](repeating: 0x22, count: 32)

/// One of many topics.
func otherTopic(_ number: UInt16) -> TopicHash {
    TopicHash([UInt8](repeating: 7, count: 18) + [UInt8(number >> 8), UInt8(number & 0xff)]) ?? .zero
}

/// A Notify with every item, or with those that plain clients know.
func sampleNotify(extended: Bool) -> Notify {
    var notify = Notify(
        token: scoped,
        topicHash: topic,
        payload: Array(#"{"aps":{}}"#.utf8),
        messageID: 0xdead_beef,
        expiry: 1_800_000_000,
        timestamp: 1_700_000_000_123_456_789,
        storageFlags: 3,
        priority: 5,
        baseToken: base
    )
    guard extended else { return notify }
    notify.topicName = "com.example.app"
    notify.uniqueID = UniqueID(high: 0x0001_0203_0405_0607, low: 0x0809_0a0b_0c0d_0e0f)
    notify.collapseID = Array("score".utf8)
    notify.pushType = "alert"
    return notify
}

/// One of each message a device sends, and of each shape it takes.
let deviceSamples: [DeviceMessage] = [
    .connect(Connect()),
    .connect(
        Connect(
            baseToken: base,
            state: 1,
            certificate: [UInt8](repeating: 0x30, count: 700),
            nonce: [UInt8](repeating: 0, count: 17),
            signature: [0xc0, 0x02, 0x30],
            protocolVersion: 11
        )
    ),
    .filter(Filter()),
    .filter(
        Filter(
            baseToken: base,
            enabled: [topic, otherTopic(1)],
            ignored: [otherTopic(2)],
            opportunistic: [otherTopic(3)],
            paused: [otherTopic(4)],
            nonWaking: [otherTopic(5)]
        )
    ),
    .notify(UpstreamNotify(messageID: [1, 2, 3, 4], token: base)),
    .notifyAck(NotifyAck(id: 0xffff_fffe, status: 0)),
    .notifyAck(NotifyAck(id: nil, status: 2)),
    .keepAlive(intervalMinutes: nil), .keepAlive(intervalMinutes: 20), .keepAlive(intervalMinutes: 300),
    .tokenRequest(TokenRequest(topicHash: topic)),
    .tokenRequest(TokenRequest(baseToken: base, topicHash: topic, appID: [0, 0], topicName: "com.example.app")),
    .setState(1), .subscribe(index: [0, 0, 0, 1], baseToken: base),
    .unregister(baseToken: base, topicHash: topic), .unregister(baseToken: nil, topicHash: topic), .unknown(15),
]

/// One of each message a server sends, and of each shape it takes.
let serverSamples: [ServerMessage] = [
    .connectAck(ConnectAck(status: 0, token: base, serverTimeMilliseconds: 1_700_000_000_123)),
    .connectAck(
        ConnectAck(status: 2, token: base, reason: "removed", retrySeconds: 60, serverTimeMilliseconds: .max)
    ),
    .noStorage(token: base), .notify(sampleNotify(extended: false)), .notify(sampleNotify(extended: true)),
    .notifyAck(token: base, messageID: [9, 9], status: 3), .keepAliveAck,
    .tokenAck(status: 0, token: scoped, topicHash: topic),
    .tokenAck(status: 2, token: scoped, topicHash: topic, appID: [0, 7], reason: "topic", retrySeconds: 1),
    .subscribeAck(index: [0, 0, 0, 1], token: base, status: 1),
    .goodbye(reason: nil, retrySeconds: nil, host: nil), .goodbye(reason: "drain", retrySeconds: 7, host: "b.example"),
    .unregisterAck(status: 0, hash: topic), .tokenGone(hash: topic, token: scoped), .unknown(30),
]

extension DeviceMessage {
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        encode(into: &bytes)
        return bytes
    }
}

extension ServerMessage {
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        encode(into: &bytes)
        return bytes
    }
}

/// What a device's decoder makes of `bytes`, given in pieces of `cut` bytes.
func deviceMessages(_ bytes: [UInt8], cut: Int = .max, limit: Int = 16_384) throws -> [DeviceMessage] {
    var decoder = FrameDecoder(frameLimit: limit)
    var messages: [DeviceMessage] = []
    for piece in pieces(bytes, cut: cut) {
        decoder.append(piece.span)
        while let message = try decoder.next() { messages.append(message) }
    }
    return messages
}

/// As `deviceMessages`, for the other direction.
func serverMessages(_ bytes: [UInt8], cut: Int = .max, limit: Int = 16_384) throws -> [ServerMessage] {
    var decoder = ServerFrameDecoder(frameLimit: limit)
    var messages: [ServerMessage] = []
    for piece in pieces(bytes, cut: cut) {
        decoder.append(piece.span)
        while let message = try decoder.next() { messages.append(message) }
    }
    return messages
}

/// Reads hexadecimal digits; spaces may stand anywhere.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap { $0.hexDigitValue.map(UInt8.init) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// A frame of the items given in hexadecimal, with its length counted.
func frame(_ command: UInt8, _ items: String) -> [UInt8] {
    let body = hex(items)
    return [command, 0, 0, UInt8(body.count >> 8), UInt8(body.count & 0xff)] + body
}

private func pieces(_ bytes: [UInt8], cut: Int) -> [[UInt8]] {
    let step = max(1, min(cut, bytes.count))
    return stride(from: 0, to: bytes.count, by: step).map { Array(bytes[$0..<min($0 + step, bytes.count)]) }
}
