import PushCore

/// What is odd about a provider's requests although the answer does not say so: told to operators, who can tell the
/// provider's makers.
package enum ProviderLint: String, CaseIterable, Sendable {
    /// `iat` is a string of digits: taken.
    case issueTimeIsText = "iat_is_text"
    /// `iat` is so late that it must count milliseconds, or less: refused.
    case issueTimeInMilliseconds = "iat_in_milliseconds"
    /// `iat` is missing, or no time: refused.
    case issueTimeMissing = "iat_missing"
    /// `kid` is among the claims, where nobody looks, and not in the header: refused.
    case keyIDInClaims = "kid_in_claims"
    /// `apns-expiration` is so late that it must count milliseconds: kept as long as any push is.
    case expirationInMilliseconds = "expiration_in_milliseconds"

    /// What the log says of it.
    var hint: String {
        switch self {
        case .issueTimeIsText: "iat is a string; it should be a number"
        case .issueTimeInMilliseconds: "iat looks like milliseconds; it counts seconds"
        case .issueTimeMissing: "iat is missing or no time; it is when the token was made, in Unix seconds"
        case .keyIDInClaims: "kid is among the claims; it belongs in the header"
        case .expirationInMilliseconds: "apns-expiration looks like milliseconds; it counts seconds"
        }
    }

    /// Seconds from which on a time must be meant in milliseconds: the year 5138 in the one, 1973 in the other.
    static let milliseconds: UInt64 = 100_000_000_000
}

extension Loop {
    /// Counts what is odd, and says it now and then.
    func note(_ lint: ProviderLint, _ connection: ProviderConnection) {
        shared.metrics.noticed(lint)
        guard lintLines[lint, default: LogPace(every: Limits.lintLogInterval)].admit(at: now) != nil else { return }
        shared.log.warning(
            "a provider sends something odd",
            LogField("hint", lint.hint),
            LogField("peer", connection.peer)
        )
    }
}
