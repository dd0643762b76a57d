import JSON
import PushCore
import TLS

@testable import Gateway

/// Provider tokens: without our key's signature nothing is taken, and with it exactly what a second reading of the
/// rules takes. The first byte says whether the rest is a token, or a header and claims, each on a line, to be signed.
func fuzzProviderToken(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let rest = Array(input.dropFirst())
    checkScheme(rest)
    if first & 1 == 0 {
        precondition(verdict(rest) == .invalidProviderToken, "a stranger's token was taken")
        return
    }
    let lines = rest.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false).map(
        Array.init
    )
    let (header, claims) = (lines[0], lines.count == 2 ? lines[1] : [])
    let signed = base64URL(header) + [UInt8(ascii: ".")] + base64URL(claims)
    guard var signature = try? Fixed.key.signES256(signed.span) else { preconditionFailure("cannot sign") }
    let token = signed + [UInt8(ascii: ".")]
    precondition(verdict(token + base64URL(signature)) == expected(header, claims), "two opinions of a token")

    signature[Int(first >> 1) % signature.count] ^= 1 + (first >> 2)
    precondition(verdict(token + base64URL(signature)) == .invalidProviderToken, "a wrong signature was taken")
}

/// nil if it is taken; asked twice, because the second answer is remembered.
private func verdict(_ token: [UInt8]) -> Rejection? {
    var verifier = ProviderTokenVerifier(environment: .development, reason: .wire)
    let metrics = Metrics()
    var verdicts: [Rejection?] = []
    for _ in 0..<2 {
        do {
            let verified = try verifier.verify(token.span, Fixed.catalog, metrics, at: Fixed.now)
            precondition(verified.claims.team == Fixed.record.team, "another team's")
            verdicts.append(nil)
        } catch {
            verdicts.append(error)
        }
    }
    precondition(verdicts[0] == verdicts[1], "another verdict the second time")
    return verdicts[0]
}

/// The rules once more, with numbers as binary64 only.
private func expected(_ header: [UInt8], _ claims: [UInt8]) -> Rejection? {
    guard let header = try? JSONValue(parsing: header.span), let claims = try? JSONValue(parsing: claims.span),
        header.object != nil, claims.object != nil, header["alg"] == nil || header["alg"] == .string("ES256"),
        header["kid"] == .string(Fixed.record.keyID), claims["iss"] == .string(Fixed.record.team),
        let issued = seconds(claims["iat"])
    else { return .invalidProviderToken }
    let age = Double(Fixed.now.seconds) - issued
    if age > 3600 { return .expiredProviderToken }
    return age < -3600 ? .invalidProviderToken : nil
}

private func seconds(_ value: JSONValue?) -> Double? {
    if let number = value?.double { return number.rounded(.towardZero) }
    guard let text = value?.string, !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Double(text)
}

private func checkScheme(_ header: [UInt8]) {
    let scheme = String(decoding: header.prefix(7), as: UTF8.self)
    let isBearer = header.count > 7 && scheme.utf8.count == 7 && scheme.lowercased() == "bearer "
    precondition(bearerTokenStart(header.span) == (isBearer ? 7 : nil), "another scheme")
}

private func base64URL(_ bytes: [UInt8]) -> [UInt8] { Array(base64URLEncoded(bytes).utf8) }

private enum Fixed {
    static let now = Moment(seconds: 1_700_000_000)

    /// Made anew each time, because no key stands in a source; what happens does not depend on it.
    static let key: PrivateKey = {
        guard let key = try? PrivateKey.p256() else { preconditionFailure("no key") }
        return key
    }()

    static let record = ProviderKey(
        keyID: "ABC123DEFG",
        team: "DEMOTEAM01",
        environment: .all,
        topics: [],
        publicKey: key.publicKey.spki,
        createdAt: now,
        revokedAt: nil
    )

    static let catalog = Catalog(version: 1, apps: [], keys: [record])
}
