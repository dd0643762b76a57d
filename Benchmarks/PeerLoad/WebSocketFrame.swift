/// A WebSocket frame of a server (RFC 6455, section 5.2): unmasked, never split.
struct WebSocketFrame: Equatable {
    static let text: UInt8 = 0x81
    static let binary: UInt8 = 0x82
    static let ping: UInt8 = 0x89

    /// Its first byte: what it is.
    let head: UInt8
    let content: Range<Int>

    /// The frame that starts at `start`; nil when more bytes are needed.
    static func next(in bytes: Span<UInt8>, from start: Int) throws(PeerError) -> WebSocketFrame? {
        guard start + 2 <= bytes.count else { return nil }
        guard bytes[start + 1] < 0x80 else { throw .refused("a server may not mask") }
        let short = Int(bytes[start + 1])
        // 126: the length is in two bytes more; 127: in eight.
        let lengthCount = short < 126 ? 0 : short == 126 ? 2 : 8
        let contentStart = start + 2 + lengthCount
        guard contentStart <= bytes.count else { return nil }
        var count = lengthCount == 0 ? short : 0
        for index in start + 2..<contentStart { count = count << 8 | Int(bytes[index]) }
        guard (0...1 << 30).contains(count) else { throw .refused("a frame is too long") }
        guard contentStart + count <= bytes.count else { return nil }
        return WebSocketFrame(head: bytes[start], content: contentStart..<contentStart + count)
    }

    /// The answer to a ping without content: a client must mask, and nothing masked is nothing.
    static let pong: [UInt8] = [0x8a, 0x80, 0, 0, 0, 0]
}
