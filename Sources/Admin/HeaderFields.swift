/// What may make two readers of a request's headers differ, so that a proxy's idea of the request is not ours
/// (RFC 9112, section 11.2).
struct HeaderFields {
    /// Headers that decide where a message ends, whom it is for and who sends it: they may come once.
    static let singular = [
        "content-length", "transfer-encoding", "host", "authorization", "origin", "content-type", "sec-fetch-site",
    ]

    private var seen: Set<String> = []
    /// One that came twice though it may come once only.
    private(set) var repeated: String?
    /// A name is no token, as with a space before its colon, or a value has control characters.
    private(set) var isMalformed = false

    /// Looks at the next header.
    mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        if name.isEmpty || !name.allSatisfy(isTokenByte) { isMalformed = true }
        if value.contains(where: { $0 < 0x20 && $0 != UInt8(ascii: "\t") || $0 == 0x7f }) { isMalformed = true }
        let name = String(decoding: name, as: UTF8.self).lowercased()
        if Self.singular.contains(name), !seen.insert(name).inserted { repeated = name }
    }
}

/// RFC 9110, section 5.6.2.
private func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}
