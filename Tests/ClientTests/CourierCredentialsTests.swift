import TLS
import Testing
import Wire

@testable import Client

@Suite struct CourierCredentialsTests {
    let exporter = [UInt8](repeating: 9, count: 32)

    @Test func `a P-256 key signs the nonce in the plain form`() throws {
        let key = try PrivateKey.p256()
        let connect = try credentials(key).connect(baseToken: nil, nonce: [1, 2], exporter: nil)
        let signature = try #require(connect.signature)
        #expect(signature.prefix(2) == [0xc0, 0x02])
        let (message, value): ([UInt8], [UInt8]) = ([1, 2], Array(signature.dropFirst(2)))
        let isGood = key.publicKey.verifyECDSASHA256DER(message.span, signature: value.span)
        #expect(isGood)
    }

    @Test func `in the extended form the signature covers the TLS session too`() throws {
        let key = try PrivateKey.rsa(bits: 2048)
        let connect = try credentials(key).connect(baseToken: [7], nonce: [1, 2], exporter: exporter)
        let signature = try #require(connect.signature)
        #expect(signature.prefix(2) == [0x01, 0x01])
        let message = Array("carillon-connect".utf8) + exporter + [1, 2]
        let value = Array(signature.dropFirst(2))
        let isGood = key.publicKey.verifyRSASHA1(message.span, signature: value.span)
        #expect(isGood)
        #expect(connect.baseToken == [7])
    }

    @Test func `a key that is not the certificate's is refused`() throws {
        let (key, other) = (try PrivateKey.p256(), try PrivateKey.p256())
        #expect(throws: TLSError.credentials("the key is not the certificate's")) {
            try credentials(key, presenting: other)
        }
    }

    private func credentials(_ key: PrivateKey, presenting other: PrivateKey? = nil) throws -> CourierCredentials {
        let made = try CertificateAuthority.make(name: "test", days: 1)
        let authority = try CertificateAuthority(certificatePEM: made.certificatePEM, keyPEM: made.keyPEM)
        let certificate = try authority.issueDevice(publicKey: key.publicKey, name: "phone", days: 1)
        return try CourierCredentials(CourierIdentity(certificatePEM: certificate, keyPEM: (other ?? key).pem))
    }
}
