import COpenSSL

/// A traffic secret as the handshake made it. Its memory never moves and is zeroed at its end.
package struct TrafficSecret: ~Copyable {
    /// How many bytes it has.
    package let count: Int
    let start: UnsafeMutablePointer<UInt8>

    /// Copies `bytes`, of which the caller keeps no other copy.
    package init(copying bytes: Span<UInt8>) {
        count = bytes.count
        start = .allocate(capacity: bytes.count)
        for index in bytes.indices { start[index] = bytes[index] }
    }

    /// Reads pairs of small hexadecimal digits; nil if there is anything else, or no secret of that length.
    package init?(hexadecimal digits: Span<UInt8>) {
        guard digits.count == 64 || digits.count == 96 else { return nil }
        for index in digits.indices where hexadecimalValue(digits[index]) == nil { return nil }
        count = digits.count / 2
        start = .allocate(capacity: count)
        start.initialize(repeating: 0, count: count)
        for index in digits.indices {
            start[index / 2] = start[index / 2] << 4 | (hexadecimalValue(digits[index]) ?? 0)
        }
    }

    deinit {
        OPENSSL_cleanse(start, count)
        start.deallocate()
    }
}

private func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
}
