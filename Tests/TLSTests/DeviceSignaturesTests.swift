import Testing

@testable import TLS

@Suite struct DeviceSignaturesTests {
    let signatures = DeviceSignatures()
    let message = Array("nonce".utf8)

    @Test func `each device's signature is good with its own point only`() throws {
        let keys = try (0..<3).map { _ in try PrivateKey.p256() }
        let signed = try keys.map { try $0.signECDSASHA256DER(message.span) }
        // In turns, because all go through the same key.
        for _ in 0..<2 {
            for (signer, signature) in signed.enumerated() {
                for (owner, key) in keys.enumerated() {
                    #expect(verify(signature, point: point(of: key)) == (signer == owner))
                }
            }
        }
    }

    @Test func `what is no point verifies nothing, and does not spoil the next`() throws {
        let key = try PrivateKey.p256()
        let signature = try key.signECDSASHA256DER(message.span)
        var offCurve = point(of: key)
        offCurve[64] ^= 1
        for bad in [[], [4], [0], offCurve, Array(point(of: key).dropLast()), point(of: key) + [0]] {
            #expect(!verify(signature, point: bad))
            #expect(verify(signature, point: point(of: key)))
        }
    }

    @Test func `an altered message or signature is refused`() throws {
        let key = try PrivateKey.p256()
        let signature = try key.signECDSASHA256DER(message.span)
        let point = point(of: key)
        let other = Array("ecnon".utf8)
        #expect(!verify(signature, of: other, point: point))
        for index in signature.indices {
            var altered = signature
            altered[index] ^= 1
            #expect(!verify(altered, point: point), "byte \(index)")
        }
        #expect(!verify([], point: point))
    }

    @Test func `RSA is verified with the key as it stands in the certificate`() throws {
        let key = try PrivateKey.rsa(bits: 2_048)
        let signature = try key.signRSASHA1(message.span)
        // Behind the algorithm and the head of the bit string.
        let der = Array(key.publicKey.spki.dropFirst(24))
        #expect(verify(message, RSA: signature, der))
        let (other, cut) = (Array("ecnon".utf8), Array(der.dropFirst()))
        #expect(!verify(other, RSA: signature, der))
        #expect(!verify(message, RSA: signature, cut))
    }

    private func verify(_ signature: [UInt8], of message: [UInt8]? = nil, point: [UInt8]) -> Bool {
        let message = message ?? self.message
        return signatures.verifyECDSASHA256(message.span, signature: signature.span, point: point.span)
    }

    private func verify(_ message: [UInt8], RSA signature: [UInt8], _ key: [UInt8]) -> Bool {
        signatures.verifyRSASHA1(message.span, signature: signature.span, key: key.span)
    }

    private func point(of key: PrivateKey) -> [UInt8] { Array(key.publicKey.spki.suffix(65)) }
}
