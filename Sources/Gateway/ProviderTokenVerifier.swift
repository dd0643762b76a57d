import JSON
import PushCore
import TLS

/// A provider token whose signature was checked.
final class VerifiedToken: Sendable {
    let claims: ProviderToken
    let key: KnownKey
    /// Names the token where distinct ones are counted.
    let digest: UInt64
    /// The catalog that was asked for the key.
    let catalogVersion: Int

    init(claims: ProviderToken, key: KnownKey, digest: UInt64, catalogVersion: Int) {
        self.claims = claims
        self.key = key
        self.digest = digest
        self.catalogVersion = catalogVersion
    }
}

/// Checks provider tokens for one loop, each distinct one once: a signature costs a hundred look-ups.
struct ProviderTokenVerifier {
    private var known: [[UInt8]: VerifiedToken] = [:]
    /// What was odd about the last token that was checked.
    private var lint: ProviderLint?
    private let environment: Environment
    private let environmentReason: Rejection

    init(environment: Environment, reason: EnvironmentKeyReason) {
        self.environment = environment
        environmentReason = reason == .wire ? .badEnvironmentKeyInToken : .badEnvironmentKeyIDInToken
    }

    /// What was odd about the token just checked; told once.
    mutating func takeLint() -> ProviderLint? {
        defer { lint = nil }
        return lint
    }

    /// The token behind `bearer `, verified: signature, key, team, environment, age. Throws what the provider reads.
    mutating func verify(
        _ token: Span<UInt8>,
        _ catalog: Catalog,
        _ metrics: Metrics,
        at now: Moment
    ) throws(Rejection) -> VerifiedToken {
        let bytes = copy(token)
        if let verified = known[bytes], verified.catalogVersion == catalog.version {
            try verified.claims.checkAge(at: now)
            return verified
        }
        do throws(Rejection) {
            let verified = try check(bytes, catalog, metrics, at: now)
            if known.count >= Limits.rememberedProviderTokens { known.removeAll() }
            known[bytes] = verified
            metrics.verified(.accepted)
            return verified
        } catch {
            switch error {
            case .expiredProviderToken: metrics.verified(.expired)
            case environmentReason: metrics.verified(.wrongEnvironment)
            default: metrics.verified(.invalid)
            }
            throw error
        }
    }

    private mutating func check(
        _ bytes: [UInt8],
        _ catalog: Catalog,
        _ metrics: Metrics,
        at now: Moment
    ) throws(Rejection) -> VerifiedToken {
        let dots = bytes.indices.filter { bytes[$0] == UInt8(ascii: ".") }
        guard dots.count == 2 else { throw .invalidProviderToken }
        let span = bytes.span
        let header = try object(span.extracting(0..<dots[0]))
        let claims = try object(span.extracting(dots[0] + 1..<dots[1]))
        guard let signature = base64URLDecoded(span.extracting(dots[1] + 1..<bytes.count)) else {
            throw .invalidProviderToken
        }
        // An absent algorithm is read as ES256, the only one there is (docs/provider-api.md).
        if let algorithm = header["alg"], algorithm.string != "ES256" { throw .invalidProviderToken }
        if header["kid"] == nil, claims["kid"] != nil { lint = .keyIDInClaims }
        guard let keyID = header["kid"]?.string, let team = claims["iss"]?.string,
            let key = catalog.keys[keyID], key.record.revokedAt == nil,
            key.publicKey.verifyES256(span.extracting(0..<dots[1]), signature: signature.span),
            key.record.team == team
        else { throw .invalidProviderToken }
        lint = lintOfIssueTime(claims["iat"])
        guard let issuedAt = issueTime(claims["iat"]) else { throw .invalidProviderToken }
        metrics.providerTokenAge.observe(Int((now - issuedAt).fractionalSeconds.rounded(.down)))

        let scope = key.record.environment
        guard scope == .all || scope.rawValue == environment.rawValue else { throw environmentReason }
        let token = ProviderToken(keyID: keyID, team: team, issuedAt: issuedAt)
        try token.checkAge(at: now)
        var hasher = Hasher()
        hasher.combine(bytes)
        let digest = UInt64(truncatingIfNeeded: hasher.finalize())
        return VerifiedToken(claims: token, key: key, digest: digest, catalogVersion: catalog.version)
    }

    private func object(_ segment: Span<UInt8>) throws(Rejection) -> JSONValue {
        guard let bytes = base64URLDecoded(segment) else { throw .invalidProviderToken }
        // What does not parse is no token; where it breaks helps nobody.
        guard let value = try? JSONValue(parsing: bytes.span), case .object = value else { throw .invalidProviderToken }
        return value
    }
}

/// What a provider's makers should know of how they write `iat`.
private func lintOfIssueTime(_ value: JSONValue?) -> ProviderLint? {
    guard let value, let time = issueTime(value) else { return .issueTimeMissing }
    // `issueTime` ends long before any count of milliseconds does.
    if time.seconds >= latestIssueTime { return .issueTimeInMilliseconds }
    return value.string == nil ? nil : .issueTimeIsText
}

/// Nine digits more than any date of this millennium: beyond it the nanoseconds of a moment overflow.
private let latestIssueTime: Int64 = 9_000_000_000

/// `iat` in seconds: an integer, digits in a string, or a fraction, which is cut off (docs/provider-api.md).
private func issueTime(_ value: JSONValue?) -> Moment? {
    let latest = latestIssueTime
    switch value {
    case .integer(let seconds): return Moment(seconds: min(max(seconds, -latest), latest))
    case .unsigned: return Moment(seconds: latest)
    case .number(let seconds): return Moment(seconds: Int64(min(max(seconds, -Double(latest)), Double(latest))))
    case .string(let text):
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Moment(seconds: min(Int64(text) ?? latest, latest))
    default: return nil
    }
}

/// The bytes of a span as an array.
func copy(_ span: Span<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(span.count)
    for index in 0..<span.count { bytes.append(span[index]) }
    return bytes
}
