/// The packets of MQTT 3.1.1 that a load needs (OASIS standard, chapter 3).
enum MQTTPacket {
    // The first byte of each: its type, and its flags as they must be.
    static let connect: UInt8 = 0x10
    static let connectAck: UInt8 = 0x20
    static let publishOnceOrMore: UInt8 = 0x32
    static let publishAck: UInt8 = 0x40
    static let subscribe: UInt8 = 0x82
    static let subscribeAck: UInt8 = 0x90

    /// A whole packet: its first byte and where its body is.
    struct Frame: Equatable {
        let head: UInt8
        let body: Range<Int>
    }

    /// The packet that starts at `start`; nil when more bytes are needed.
    static func frame(in bytes: Span<UInt8>, from start: Int) throws(PeerError) -> Frame? {
        var length = 0
        // One to four bytes of seven bits each, the lowest first.
        for index in 0..<4 {
            let position = start + 1 + index
            guard position < bytes.count else { return nil }
            length |= Int(bytes[position] & 0x7f) << (7 * index)
            if bytes[position] & 0x80 == 0 {
                let end = position + 1 + length
                return end <= bytes.count ? Frame(head: bytes[start], body: position + 1..<end) : nil
            }
        }
        throw .refused("a packet's length has more than four bytes")
    }

    /// Asks to be known as `client`. With `persistent` the server keeps its subscriptions and what it missed.
    static func appendConnect(client: String, persistent: Bool, to output: inout [UInt8]) {
        append(head: connect, length: 12 + client.utf8.count, to: &output)
        append("MQTT", to: &output)
        // Version 4 is 3.1.1; no keep-alive.
        output += [4, persistent ? 0 : 2, 0, 0]
        append(client, to: &output)
    }

    /// Asks for what is published to `topic`, at least once.
    static func appendSubscribe(topic: String, id: UInt16, to output: inout [UInt8]) {
        append(head: subscribe, length: 5 + topic.utf8.count, to: &output)
        append(id, to: &output)
        append(topic, to: &output)
        output.append(1)
    }

    /// All of a message but its content, which must follow.
    static func appendPublish(topic: [UInt8], id: UInt16, contentCount: Int, to output: inout [UInt8]) {
        append(head: publishOnceOrMore, length: 4 + topic.count + contentCount, to: &output)
        append(UInt16(topic.count), to: &output)
        output.append(contentsOf: topic)
        append(id, to: &output)
    }

    static func appendPublishAck(_ high: UInt8, _ low: UInt8, to output: inout [UInt8]) {
        output.append(publishAck)
        output.append(2)
        output.append(high)
        output.append(low)
    }

    private static func append(head: UInt8, length: Int, to output: inout [UInt8]) {
        output.append(head)
        var rest = length
        while rest > 0x7f {
            output.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(rest))
    }

    private static func append(_ number: UInt16, to output: inout [UInt8]) {
        output.append(UInt8(number >> 8))
        output.append(UInt8(truncatingIfNeeded: number))
    }

    private static func append(_ text: String, to output: inout [UInt8]) {
        append(UInt16(text.utf8.count), to: &output)
        output.append(contentsOf: text.utf8)
    }
}
