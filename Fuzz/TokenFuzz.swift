import PushCore

/// Tokens from hexadecimal digits: what is taken comes out again, and what is refused had to be.
func fuzzToken(_ input: [UInt8]) {
    let digits = input.allSatisfy { hexValue($0) != nil }
    let token = DeviceToken(hex: input.span)
    let isRight = digits && input.count % 2 == 0 && (1...100).contains(input.count / 2)
    precondition((token != nil) == isRight, "a wrong verdict")
    if let token {
        precondition(token.hex == String(decoding: input, as: UTF8.self).lowercased(), "other digits came out")
        precondition(DeviceToken(token.bytes) == token, "its bytes are another token")
    }

    if let raw = DeviceToken(input) {
        precondition(raw.bytes == input, "other bytes came out")
        precondition(DeviceToken(hex: raw.hex) == raw, "its digits are another token")
    }
}
