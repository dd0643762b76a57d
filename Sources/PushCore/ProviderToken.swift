/// The claims of a provider token whose form is good (Establishing a token-based connection to APNs). Signature and
/// key are judged elsewhere; here are the rules of its age.
package struct ProviderToken: Equatable, Sendable {
    /// `kid`: which key signed it.
    package let keyID: String
    /// `iss`: whose it is.
    package let team: String
    /// `iat`: when it was made.
    package let issuedAt: Moment

    package init(keyID: String, team: String, issuedAt: Moment) {
        (self.keyID, self.team, self.issuedAt) = (keyID, team, issuedAt)
    }

    /// Too old is expired; as far ahead it is no valid token at all.
    package func checkAge(at now: Moment) throws(Rejection) {
        if now - issuedAt > Limits.providerTokenAge { throw .expiredProviderToken }
        if issuedAt - now > Limits.providerTokenAge { throw .invalidProviderToken }
    }
}

/// Counts the distinct provider tokens one connection used within `Limits.providerTokenUpdateSpan`. Values, no clock.
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
