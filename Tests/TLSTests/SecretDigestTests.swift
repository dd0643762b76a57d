import TLS
import Testing

@Suite struct SecretDigestTests {
    private func digest(_ text: String) -> SecretDigest {
        let bytes = Array(text.utf8)
        return SecretDigest(of: bytes.span)
    }

    @Test func `a secret equals itself alone, wherever another differs`() {
        let secret = String(repeating: "s", count: 64)
        #expect(digest(secret) == digest(secret))
        for position in 0..<64 {
            var other = Array(secret.utf8)
            other[position] ^= 1
            #expect(digest(String(decoding: other, as: UTF8.self)) != digest(secret))
        }
        for other in ["", "s", String(secret.dropLast()), secret + "s", secret + secret] {
            #expect(digest(other) != digest(secret))
        }
    }

    @Test func `no text shows it`() {
        #expect("\(digest("topsecret"))" == "secret")
        #expect(Optional(digest("topsecret")).map { "\($0)" } == "secret")
    }

    @Test func `what is cleansed is zero`() {
        var bytes = Array("topsecret".utf8)
        cleanse(&bytes)
        #expect(bytes == [UInt8](repeating: 0, count: 9))
        var empty: [UInt8] = []
        cleanse(&empty)
        #expect(empty.isEmpty)
    }
}
