/// Writes compact JSON straight into bytes; never builds a tree.
package struct JSONWriter {
    /// What was written so far.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// With room for so many bytes: what is written never moves while it fits, so no copy of a secret is left behind.
    package init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Lends the bytes to be changed, and is empty after: whoever zeroes them zeroes the only copy.
    package mutating func withTaken<Result>(_ body: (inout [UInt8]) -> Result) -> Result {
        let result = body(&bytes)
        bytes = []
        return result
    }

    /// `{...}`, with what `body` writes by `field`, or by `key` and a value.
    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        body(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    /// `[...]`, with the values `body` writes.
    package mutating func array(_ body: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "["))
        body(&self)
        bytes.append(UInt8(ascii: "]"))
    }

    /// The name of a member; its value must follow.
    package mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
    }

    /// A string, number, boolean, `JSONValue`, an array of them, or an optional one (nil is null).
    package mutating func value(_ value: some JSONWritable) { value.write(to: &self) }

    /// `null`, for the literal `nil`.
    package mutating func value(_ null: JSONNull) { append("null") }

    /// One member of an object.
    package mutating func field(_ name: String, _ value: some JSONWritable) {
        key(name)
        value.write(to: &self)
    }

    /// One member of an object whose value is text in UTF-8 that is only borrowed, so that it need not be a `String`.
    package mutating func field(_ name: String, text: Span<UInt8>) {
        key(name)
        bytes.append(UInt8(ascii: "\""))
        for index in text.indices { escape(text[index]) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// One member of an object whose value is the literal `nil`.
    package mutating func field(_ name: String, _ null: JSONNull) {
        key(name)
        value(null)
    }

    /// A string value.
    mutating func append(quoting text: String) {
        separate()
        quote(text)
    }

    /// A value that is JSON as it stands.
    mutating func append(_ literal: String) {
        separate()
        bytes.append(contentsOf: literal.utf8)
    }

    /// A comma, unless nothing stands before: only structure ends in one of these bytes, strings end in a quote.
    private mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): break
        default: bytes.append(UInt8(ascii: ","))
        }
    }

    /// RFC 8259 section 7: what must be escaped is, and nothing else.
    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 { escape(byte) }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case 0x08: bytes += #"\b"#.utf8
        case 0x09: bytes += #"\t"#.utf8
        case 0x0A: bytes += #"\n"#.utf8
        case 0x0C: bytes += #"\f"#.utf8
        case 0x0D: bytes += #"\r"#.utf8
        case ..<0x20: bytes += #"\u00\#(byte < 0x10 ? "0" : "")\#(String(byte, radix: 16))"#.utf8
        default: bytes.append(byte)
        }
    }
}
