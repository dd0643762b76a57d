/// The head of an HTTP/1.1 response, as far as a load needs it.
struct HTTPHead: Equatable {
    let status: Int
    /// Where the body starts.
    let bodyStart: Int
    /// Bytes of the body. Peers say it in advance.
    let bodyCount: Int

    /// The head that starts at `start`; nil when more bytes are needed.
    static func next(in bytes: Span<UInt8>, from start: Int) throws(PeerError) -> HTTPHead? {
        guard var lineStart = NATSFrame.lineEnd(in: bytes, from: start) else { return nil }
        guard lineStart - start >= 12, let status = digits(bytes, from: start + 9), (100...999).contains(status) else {
            throw .refused("what came is not HTTP")
        }
        var count = 0
        while let next = NATSFrame.lineEnd(in: bytes, from: lineStart) {
            // An empty line ends the head.
            if next - lineStart == 2 { return HTTPHead(status: status, bodyStart: next, bodyCount: count) }
            if matches(bytes, at: lineStart, "content-length: ") {
                guard let number = digits(bytes, from: lineStart + 16) else { throw .refused("a length is no number") }
                count = number
            } else if matches(bytes, at: lineStart, "transfer-encoding:") {
                throw .refused("a response has no length")
            }
            lineStart = next
        }
        return nil
    }

    private static func digits(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        var number = 0
        var index = start
        while index < bytes.count, index < start + 9, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) {
            number = number * 10 + Int(bytes[index] - UInt8(ascii: "0"))
            index += 1
        }
        return index > start ? number : nil
    }

    /// `name` in lowercase; bit 5 makes a letter lowercase and leaves the other characters of a name alone.
    private static func matches(_ bytes: Span<UInt8>, at start: Int, _ name: StaticString) -> Bool {
        guard start + name.utf8CodeUnitCount <= bytes.count else { return false }
        return name.withUTF8Buffer { name in
            name.indices.allSatisfy { bytes[start + $0] | 0x20 == name[$0] }
        }
    }
}
