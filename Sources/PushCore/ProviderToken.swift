/// The claims of a provider token whose form is good (Establishing a token-based connection to APNs). Signature and
/// key are judged elsewhere; here are the rules of its age.
package struct ProviderToken: Equatable, Sendable {
    package let keyID: String
    package let team: String
    package let issuedAt: Moment

    package init(keyID: String, team: String, issuedAt: Moment) {
        (self.keyID, self.team, self.issuedAt) = (keyID, team, issuedAt)
    }

    /// Too old is expired; more than an hour ahead is no valid token at all.
    package func checkAge(at now: Moment) throws(Rejection) {
        if now - issuedAt > Limits.providerTokenAge { throw .expiredProviderToken }
        if issuedAt - now > Limits.providerTokenAge { throw .invalidProviderToken }
    }
}

/// Counts the distinct provider tokens one connection used in any 20 minutes. Values, no clock.
package struct ProviderTokenUpdates: Sendable {
    private let limit: Int
    private var seen: [(token: UInt64, at: Moment)] = []

    package init(limit: Int) { self.limit = limit }

    /// `token` is a digest of a verified token. One that was seen inside the span never counts again, and one that
    /// is refused is not remembered, so the connection recovers by itself.
    package mutating func admit(_ token: UInt64, at now: Moment) throws(Rejection) {
        seen.removeAll { now - $0.at >= Limits.providerTokenUpdateSpan }
        if seen.contains(where: { $0.token == token }) { return }
        guard seen.count < limit else { throw .tooManyProviderTokenUpdates }
        seen.append((token, now))
    }
}

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
