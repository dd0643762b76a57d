/// What a request line asks for: a path and the fields of a query.
package struct RequestTarget: Equatable, Sendable {
    /// Up to the question mark.
    package let path: String
    /// The fields behind it.
    package let query: [String: String]

    /// Splits `text` at the question mark and undoes the escapes. Of a field that comes twice, the last counts.
    package init(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        path = unescape(parts[0], plusIsSpace: false)
        guard parts.count == 2 else {
            query = [:]
            return
        }
        var query: [String: String] = [:]
        for field in parts[1].split(separator: UInt8(ascii: "&")) {
            let sides = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = unescape(sides[0], plusIsSpace: true)
            query[name] = sides.count == 2 ? unescape(sides[1], plusIsSpace: true) : ""
        }
        self.query = query
    }
}

/// `%41` becomes `A`. A per cent sign that begins no escape stays; bytes that are not UTF-8 become U+FFFD.
private func unescape(_ text: Substring.UTF8View, plusIsSpace: Bool) -> String {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), let escaped = hexadecimal(rest.prefix(2)) {
            bytes.append(escaped)
            rest = rest.dropFirst(2)
        } else if byte == UInt8(ascii: "+"), plusIsSpace {
            bytes.append(UInt8(ascii: " "))
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// The byte that two hexadecimal digits name.
private func hexadecimal(_ digits: Substring.UTF8View) -> UInt8? {
    // `UInt8(_:radix:)` would also take a sign.
    guard digits.count == 2, digits.first != UInt8(ascii: "+"), digits.first != UInt8(ascii: "-") else { return nil }
    return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
}
