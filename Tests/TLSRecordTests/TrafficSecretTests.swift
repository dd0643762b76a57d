import Testing

@testable import TLSRecord

@Suite struct TrafficSecretTests {
    /// The bytes of the secret; nil if it is none.
    private func read(_ digits: String) -> [UInt8]? {
        let text = Array(digits.utf8)
        switch TrafficSecret(hexadecimal: text.span) {
        case .none: return nil
        case .some(let secret): return (0..<secret.count).map { secret.start[$0] }
        }
    }

    @Test func `a secret is read from its digits`() {
        let digits = VectorTests.clientSecret
        #expect(read(digits) == bytes(digits))
        #expect(read(digits + String(digits.prefix(32)))?.count == 48)
    }

    @Test func `anything else is not a secret`() {
        let digits = VectorTests.clientSecret
        for wrong in ["", "00", String(digits.dropLast()), digits + "0", digits + digits, digits.dropLast() + "G"] {
            #expect(read(wrong) == nil)
        }
    }
}
