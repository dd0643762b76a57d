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

    @Test func `a message in parts has the digest of the whole`() {
        let message = Array((0..<1_000).map { UInt8(truncatingIfNeeded: $0) })
        for cut in [0, 1, 63, 64, 65, 1_000] {
            let digest = RunningDigest()
            digest.update(message.span.extracting(..<cut))
            digest.update(message.span.extracting(cut...))
            #expect(digest.finish() == Digest.sha256(message.span))
        }
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
