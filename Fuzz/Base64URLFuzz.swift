import PushCore

/// Segments of provider tokens: only one text stands for given bytes, and that one is taken.
func fuzzBase64URL(_ input: [UInt8]) {
    if let bytes = base64URLDecoded(input.span) {
        precondition(encoded(bytes) == input, "two texts for the same bytes")
    } else {
        let good = input.allSatisfy(digits.contains) && input.count % 4 != 1
        precondition(!good || !hasZeroRest(input), "a good text was refused")
    }
    let text = encoded(input)
    precondition(base64URLDecoded(text.span) == input, "other bytes came out")
}

private let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

/// Whether the bits of the last digit that make no byte are 0.
private func hasZeroRest(_ text: [UInt8]) -> Bool {
    guard let last = text.last, let value = digits.firstIndex(of: last) else { return true }
    switch text.count % 4 {
    case 2: return value % 16 == 0
    case 3: return value % 4 == 0
    default: return true
    }
}

/// Bit by bit, unlike what is tested.
private func encoded(_ bytes: [UInt8]) -> [UInt8] {
    var bits = bytes.flatMap { byte in (0..<8).map { Int(byte >> UInt8(7 - $0) & 1) } }
    while bits.count % 6 != 0 { bits.append(0) }
    return stride(from: 0, to: bits.count, by: 6).map { start in
        digits[bits[start..<start + 6].reduce(0) { $0 * 2 + $1 }]
    }
}
