import TLS
import Testing

@Suite struct DigestTests {
    @Test func `hashes equal the published ones`() {
        // FIPS 180-4 examples for "abc", and the well-known digests of nothing.
        let abc = Array("abc".utf8)
        #expect(hex(Digest.sha1(abc)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(hex(Digest.sha1([])) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        #expect(
            hex(Digest.sha256(abc)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
    }

    @Test func `an HMAC equals the published one`() {
        // RFC 4231, test case 2.
        let mac = Digest.hmacSHA256(
            key: Array("Jefe".utf8),
            message: Array("what do ya want for nothing?".utf8)
        )
        #expect(hex(mac) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            hex(Digest.hmacSHA256(key: [], message: []))
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
        )
    }

    @Test func `secrets are equal when all their bytes are`() {
        #expect(equal([1, 2, 3], [1, 2, 3]))
        #expect(equal([], []))
        #expect(!equal([1, 2, 3], [1, 2, 4]))
        #expect(!equal([1, 2, 3], [1, 2]))
        #expect(!equal([], [1]))
    }

    @Test func `random bytes are as many as asked for and never the same`() {
        #expect(SecureRandom.bytes(0).isEmpty)
        #expect(SecureRandom.bytes(32).count == 32)
        #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
    }

    private func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool { constantTimeEqual(a.span, b.span) }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { (byte: UInt8) in
            let digits = Array("0123456789abcdef")
            return String([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
        }.joined()
    }
}
