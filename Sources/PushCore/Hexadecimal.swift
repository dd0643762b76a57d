/// The value of one hexadecimal digit of either case.
package func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// Lowercase hexadecimal digits of `bytes`.
package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

/// Sixteen bytes as 8-4-4-4-12 lowercase hexadecimal digits; any other count as plain digits.
package func uuidText(_ bytes: [UInt8]) -> String {
    guard bytes.count == 16 else { return hexadecimal(bytes) }
    var text: [UInt8] = []
    appendUUID(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
}

/// Appends the 36 characters of sixteen bytes to an array that may be used again.
package func appendUUID(_ bytes: [UInt8], to text: inout [UInt8], uppercase: Bool = false) {
    // What a letter's code lies beyond that of the digit 9.
    let gap = uppercase ? UInt8(ascii: "A") - UInt8(ascii: "9") - 1 : UInt8(ascii: "a") - UInt8(ascii: "9") - 1
    text.append(addingCapacity: 36) { output in
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 { output.append(UInt8(ascii: "-")) }
            let (high, low) = (bytes[index] >> 4, bytes[index] & 15)
            output.append(UInt8(ascii: "0") + high + (high > 9 ? gap : 0))
            output.append(UInt8(ascii: "0") + low + (low > 9 ? gap : 0))
        }
    }
}
