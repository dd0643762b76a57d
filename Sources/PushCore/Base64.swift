/// Base64 with padding (RFC 4648 section 4).
package func base64Encoded(_ bytes: [UInt8]) -> String {
    let text = encoded(bytes, lastDigits: "+/")
    return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
}

/// Base64 in the digits of URLs, without padding (RFC 7515 section 2).
package func base64URLEncoded(_ bytes: [UInt8]) -> String { encoded(bytes, lastDigits: "-_") }

/// Decodes base64url without padding (RFC 7515 section 2); nil for anything else.
package func base64URLDecoded(_ text: Span<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var bits: UInt32 = 0
    var count = 0
    for index in 0..<text.count {
        guard let value = base64URLValue(text[index]) else { return nil }
        bits = bits << 6 | value
        count += 6
        if count >= 8 {
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            bits &= (1 << UInt32(count)) - 1
        }
    }
    // Left-over bits must be zero, or two texts would stand for the same bytes.
    return bits == 0 ? bytes : nil
}

private func base64URLValue(_ digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
}

private func encoded(_ bytes: [UInt8], lastDigits: String) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(lastDigits)".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
        for place in 0...group.count { text.append(digits[bits >> (18 - 6 * place) & 63]) }
    }
    return String(decoding: text, as: UTF8.self)
}
