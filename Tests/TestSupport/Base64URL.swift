/// Encodes base64url without padding, bit by bit, unlike what decodes it.
package func base64URL(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var bits = bytes.flatMap { byte in (0..<8).map { byte >> UInt8(7 - $0) & 1 } }
    while bits.count % 6 != 0 { bits.append(0) }
    return stride(from: 0, to: bits.count, by: 6).reduce(into: "") { text, start in
        text.append(digits[bits[start..<start + 6].reduce(0) { $0 * 2 + Int($1) }])
    }
}

package func base64URL(_ text: String) -> String { base64URL(Array(text.utf8)) }
