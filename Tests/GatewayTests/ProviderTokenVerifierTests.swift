import PushCore
import TLS
import TestSupport
import Testing

@testable import Gateway

/// What docs/provider-api.md says of provider tokens, as far as the token alone decides it.
@Suite struct ProviderTokenVerifierTests {
    let bench: TokenBench

    init() throws { bench = try TokenBench() }

    @Test func `a good token tells its key and team`() throws {
        let verified = try bench.verify(try bench.token())
        #expect(verified.claims == ProviderToken(keyID: "ABC123DEFG", team: "DEMOTEAM01", issuedAt: Sample.now))
    }

    @Test(arguments: [
        #"{"kid":"ABC123DEFG"}"#, #"{"alg":"ES256","kid":"ABC123DEFG","typ":"JWT"}"#,
        #"{"kid":"ABC123DEFG","alg":"ES256","x":[1]}"#,
    ])
    func `an absent algorithm is ES256 and other headers do not matter`(_ header: String) throws {
        _ = try bench.verify(try bench.token(header: header))
    }

    @Test(arguments: [
        #"{"alg":"HS256","kid":"ABC123DEFG"}"#, #"{"alg":"none","kid":"ABC123DEFG"}"#,
        #"{"alg":"ES384","kid":"ABC123DEFG"}"#, #"{"alg":null,"kid":"ABC123DEFG"}"#, #"{"alg":"ES256"}"#,
        #"{"alg":"es256","kid":"ABC123DEFG"}"#, #"{"alg":"ES256","kid":7}"#, #"{"alg":"ES256","kid":"OTHER12345"}"#,
        "[]", "7", "", "{",
    ])
    func `another algorithm, no known key or no object is no valid token`(_ header: String) throws {
        let token = try bench.token(header: header)
        #expect(throws: Rejection.invalidProviderToken) { try bench.verify(token) }
    }

    @Test(arguments: ["1700000000", "\"1700000000\"", "1700000000.9", "1.7e9", "1699996460", "1700003540"])
    func `an issue time is a number or digits, within an hour`(_ time: String) throws {
        _ = try bench.verify(try bench.token(claims: #"{"iss":"DEMOTEAM01","iat":\#(time),"kid":"x"}"#))
    }

    @Test(arguments: ["1699996399", "\"1699996399\"", "0", "-1", "-1e300", "-9223372036854775808", "1e-9"])
    func `an old issue time has expired`(_ time: String) throws {
        let token = try bench.token(claims: #"{"iss":"DEMOTEAM01","iat":\#(time)}"#)
        #expect(throws: Rejection.expiredProviderToken) { try bench.verify(token) }
    }

    @Test(arguments: [
        "1700003601", "1700000000000", "1700000000000000000", "18446744073709551615", "1e300", "\"1700000000000\"",
        "\"99999999999999999999\"", "\"\"", "\" 1700000000\"", "\"1e9\"", "\"-5\"", "\"٣\"", "null", "true", "{}", "[]",
    ])
    func `an issue time far ahead or of another kind is not valid`(_ time: String) throws {
        let token = try bench.token(claims: #"{"iss":"DEMOTEAM01","iat":\#(time)}"#)
        #expect(throws: Rejection.invalidProviderToken) { try bench.verify(token) }
    }

    @Test(arguments: [
        #"{"iss":"DEMOTEAM01"}"#, #"{"iat":1700000000}"#, #"{"iss":"OTHERTEAM1","iat":1700000000}"#,
        #"{"iss":7,"iat":1700000000}"#, "null", "",
    ])
    func `claims that lack something or name another team are not valid`(_ claims: String) throws {
        let token = try bench.token(claims: claims)
        #expect(throws: Rejection.invalidProviderToken) { try bench.verify(token) }
    }

    @Test func `a signature in DER is good too`() throws {
        _ = try bench.verify(try bench.token { try bench.key.signECDSASHA256DER($0.span) })
    }

    @Test(arguments: [0, 1, 32, 63, 65, 128])
    func `a signature of another length is not valid`(_ count: Int) throws {
        let token = try bench.token { _ in [UInt8](repeating: 0x30, count: count) }
        #expect(throws: Rejection.invalidProviderToken) { try bench.verify(token) }
    }

    @Test func `another key's signature is not valid`() throws {
        let other = try PrivateKey.p256()
        let token = try bench.token { try other.signES256($0.span) }
        #expect(throws: Rejection.invalidProviderToken) { try bench.verify(token) }
    }

    @Test func `any changed character makes it another token`() throws {
        let good = Array(try bench.token().utf8)
        for index in good.indices {
            var bad = good
            bad[index] = bad[index] == UInt8(ascii: "B") ? UInt8(ascii: "C") : UInt8(ascii: "B")
            #expect(throws: Rejection.invalidProviderToken, "character \(index)") {
                try bench.verify(String(decoding: bad, as: UTF8.self))
            }
        }
    }

    @Test(arguments: ["abc", "", ".", "..", "...", "a.b", "a.b.c", "=.=.="])
    func `what has not three good segments is not valid`(_ token: String) {
        #expect(throws: Rejection.invalidProviderToken) { try bench.verify(token) }
    }

    @Test func `padding, blanks and a fourth segment are not valid`() throws {
        let token = try bench.token()
        let parts = token.split(separator: ".").map(String.init)
        let padded = parts.map { $0 + String(repeating: "=", count: (4 - $0.count % 4) % 4) }.joined(separator: ".")
        for bad in [padded, token + ".", token + " ", " " + token, token + ".e30"] where bad != token {
            #expect(throws: Rejection.invalidProviderToken) { try bench.verify(bad) }
        }
    }

    @Test func `a revoked key's tokens are not valid`() throws {
        let token = try bench.token()
        let catalog = bench.catalog(version: 2) { $0.revokedAt = Sample.now }
        #expect(throws: Rejection.invalidProviderToken) { try bench.verify(token, catalog) }
    }

    @Test(arguments: [
        (EnvironmentKeyReason.wire, Rejection.badEnvironmentKeyInToken), (.documented, .badEnvironmentKeyIDInToken),
    ])
    func `a key of the other environment has a reason of its own`(
        _ spelling: EnvironmentKeyReason,
        _ rejection: Rejection
    ) throws {
        let token = try bench.token()
        #expect(throws: rejection) {
            try bench.verify(token, bench.catalog(environment: .production), reason: spelling)
        }
        _ = try bench.verify(token, bench.catalog(environment: .development), reason: spelling)
    }

    @Test func `a verified token is checked once and expires all the same`() throws {
        var verifier = ProviderTokenVerifier(environment: .development, reason: .wire)
        let (token, catalog, metrics) = (Array(try bench.token().utf8), bench.catalog(), Metrics())
        let first = try verifier.verify(token.span, catalog, metrics, at: Sample.now)
        #expect(try verifier.verify(token.span, catalog, metrics, at: Sample.now + .seconds(3600)) === first)
        #expect(throws: Rejection.expiredProviderToken) {
            try verifier.verify(token.span, catalog, metrics, at: Sample.now + .seconds(3601))
        }
        #expect(metrics.verificationCounts.first?.1 == 1)
    }

    @Test func `a remembered token is checked again when keys have changed`() throws {
        var verifier = ProviderTokenVerifier(environment: .development, reason: .wire)
        let (token, metrics) = (Array(try bench.token().utf8), Metrics())
        _ = try verifier.verify(token.span, bench.catalog(), metrics, at: Sample.now)
        let revoked = bench.catalog(version: 2) { $0.revokedAt = Sample.now }
        #expect(throws: Rejection.invalidProviderToken) {
            try verifier.verify(token.span, revoked, metrics, at: Sample.now)
        }
    }
}

/// A key, the catalog that knows it, and tokens signed with it.
struct TokenBench {
    let key: PrivateKey

    init() throws { key = try PrivateKey.p256() }

    func catalog(
        version: Int = 1,
        environment: ProviderKey.Scope = .all,
        change: (inout ProviderKey) -> Void = { _ in }
    ) -> Catalog {
        var record = ProviderKey(
            keyID: "ABC123DEFG",
            team: "DEMOTEAM01",
            environment: environment,
            topics: [],
            publicKey: key.publicKey.spki,
            createdAt: Sample.now,
            revokedAt: nil
        )
        change(&record)
        return Catalog(version: version, apps: [], keys: [record])
    }

    func token(
        header: String = #"{"alg":"ES256","kid":"ABC123DEFG"}"#,
        claims: String = #"{"iss":"DEMOTEAM01","iat":1700000000}"#,
        sign: (([UInt8]) throws -> [UInt8])? = nil
    ) throws -> String {
        let signed = base64URL(header) + "." + base64URL(claims)
        let bytes = Array(signed.utf8)
        let signature = try sign?(bytes) ?? key.signES256(bytes.span)
        return signed + "." + base64URL(signature)
    }

    func verify(
        _ token: String,
        _ catalog: Catalog? = nil,
        reason: EnvironmentKeyReason = .wire
    ) throws -> VerifiedToken {
        var verifier = ProviderTokenVerifier(environment: .development, reason: reason)
        let bytes = Array(token.utf8)
        return try verifier.verify(bytes.span, catalog ?? self.catalog(), Metrics(), at: Sample.now)
    }
}
