import PushCore
import TestSupport
import Testing

@Suite struct Base64URLTests {
    @Test(arguments: [
        ("", ""), ("Zg", "f"), ("Zm8", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob"), ("Zm9vYmE", "fooba"),
        ("Zm9vYmFy", "foobar"), ("eyJhbGciOiJFUzI1NiJ9", #"{"alg":"ES256"}"#),
    ])
    func `known texts decode`(_ text: String, _ expected: String) {
        #expect(decoded(text) == Array(expected.utf8))
    }

    @Test func `the last two digits are hyphen and underscore`() {
        #expect(decoded("-_-_") == [0xfb, 0xff, 0xbf])
        #expect(decoded("+/+/") == nil)
    }

    @Test(arguments: ["Zg==", "Zm8=", "Zm9v\n", " Zm9v", "Zm.9", "Zm9=", "é123", "A", "AAAAA"])
    func `padding, blanks and impossible counts are refused`(_ text: String) {
        #expect(decoded(text) == nil)
    }

    @Test(arguments: ["Zh", "Zm9", "Zm-", "__"])
    func `left-over bits must be zero`(_ text: String) {
        #expect(decoded(text) == nil)
    }

    @Test(arguments: SeededRandom.seeds)
    func `any bytes survive`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for count in 0..<70 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(decoded(base64URL(bytes)) == bytes, "seed \(seed), \(count) bytes")
        }
    }

    private func decoded(_ text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        return base64URLDecoded(bytes.span)
    }
}
