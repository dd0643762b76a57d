import TLS
import Wire

/// A device's key and certificate, parsed once, and what it signs with them.
struct CourierCredentials: Sendable {
    private let key: PrivateKey
    private let certificate: [UInt8]

    /// Throws also when key and certificate do not belong together: the gateway would only say "bad signature".
    init(_ identity: CourierIdentity) throws(TLSError) {
        let certificate = try Certificate(pem: identity.certificatePEM)
        key = try PrivateKey(pem: identity.keyPEM)
        guard key.publicKey.spki == certificate.publicKey.spki else {
            throw .credentials("the key is not the certificate's")
        }
        self.certificate = certificate.der
    }

    /// The first frame of a connection. `exporter` is what TLS exported in the extended form, so that the signature is
    /// good for this connection only; nil in the plain one.
    func connect(baseToken: [UInt8]?, nonce: [UInt8], exporter: [UInt8]?) throws(TLSError) -> Connect {
        let signed = exporter.map { Array(DeviceProtocol.signatureContext.utf8) + $0 + nonce } ?? nonce
        return Connect(
            baseToken: baseToken,
            state: 1,
            certificate: certificate,
            nonce: nonce,
            signature: try sign(signed),
            protocolVersion: 11
        )
    }

    /// The form in two bytes, then the signature: the key decides which.
    private func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] {
        switch key.publicKey.kind {
        case .rsa: [0x01, 0x01] + (try key.signRSASHA1(message.span))
        case .p256, .other: [0xc0, 0x02] + (try key.signECDSASHA256DER(message.span))
        }
    }
}
