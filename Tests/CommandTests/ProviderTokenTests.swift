import Gateway
import JSON
import TLS
import Testing

import func PushCore.base64URLEncoded

@testable import carillon

@Suite struct ProviderTokenTests {
    @Test(arguments: [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("??>", "Pz8-")])
    func `base64 is that of URLs and unpadded`(_ text: String, _ encoded: String) {
        #expect(base64URLEncoded(Array(text.utf8)) == encoded)
    }

    @Test func `a token is signed by the key and names it, its team and the time`() throws {
        let key = try PrivateKey.p256()
        let token = try ProviderToken(keyID: "ABC123DEFG", team: "DEMOTEAM01", key: key).signed(at: 1_700_000_000)
        let parts = token.split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        #expect(parts[0] == base64URLEncoded(Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8)))
        #expect(parts[1] == base64URLEncoded(Array(#"{"iss":"DEMOTEAM01","iat":1700000000}"#.utf8)))
        #expect(parts[2].count == 86)
    }

    @Test(arguments: [
        ("keys/AuthKey_ABC123DEFG.p8", "ABC123DEFG"), ("AuthKey_abc123defg.p8", nil), ("AuthKey_ABC.p8", nil),
        ("key.p8", nil), ("AuthKey_ABC123DEFG.pem", nil),
    ])
    func `a key's id is in its file name`(_ path: String, _ id: String?) {
        #expect(ProviderKeyChoice.keyID(ofFile: path) == id)
    }

    @Test func `a random key id is ten capitals and digits`() {
        for _ in 0..<100 { #expect(KeyID.isValid(KeyID.random())) }
        #expect(!KeyID.isValid("ABC123DEF") && !KeyID.isValid("ABC123DEFg"))
    }

    @Test(arguments: [
        ("0", 0), ("1700000000", 1_700_000_000), ("+90s", 1090), ("+2h", 8200), ("+3d", 260_200), ("+0", 1000),
        ("", nil), ("-1", nil), ("+", nil), ("2h", nil), ("soon", nil), ("+1y", nil),
    ])
    func `an expiration is a time or a time from now`(_ text: String, _ seconds: Int64?) {
        #expect(Expiration.seconds(text, now: 1000) == seconds)
    }
}
