import COpenSSL

/// The answer to "may this certificate open a device session?". It never changes, so what matters of it is kept by the
/// digest of the certificate; only the dates are compared anew with each Connect.
package struct DeviceCertificateVerdict: Sendable {
    /// Why, or why not.
    package enum Result: Sendable {
        case accepted
        /// Ours, but a server's, a provider's or an authority's.
        case wrongPurpose
        /// Not signed by an authority of ours.
        case foreign
        case malformed
        /// Fewer bits than allowed, or of a kind that no device signature is made with.
        case weakKey
    }

    /// Why, or why not.
    package let result: Result
    /// The device's key; only when accepted.
    package let key: DeviceKey?
    /// SHA-256 of the key as SubjectPublicKeyInfo, which names the device; empty unless accepted.
    package let spkiDigest: [UInt8]
    /// First second of the certificate's validity, in Unix time.
    package let notBefore: Int64
    /// Last second of the certificate's validity, in Unix time.
    package let notAfter: Int64
}

/// Judges a device's certificate from Connect, all but its dates: any of `authorities` may have signed it. Nothing of a
/// foreign certificate is used.
package func verifyDeviceCertificate(
    der: Span<UInt8>,
    authorities: [Certificate],
    minimumRSABits: Int
) -> DeviceCertificateVerdict {
    let certificate: Certificate
    do {
        certificate = try Certificate(X509(der: der))
    } catch {
        return DeviceCertificateVerdict(refused: .malformed)
    }
    guard authorities.contains(where: certificate.isIssued) else { return DeviceCertificateVerdict(refused: .foreign) }
    guard certificate.purpose == .device else { return DeviceCertificateVerdict(refused: .wrongPurpose) }
    guard certificate.publicKey.kind.isFitForDevice(minimumRSABits: minimumRSABits) else {
        return DeviceCertificateVerdict(refused: .weakKey)
    }
    guard let key = DeviceKey(of: certificate) else { return DeviceCertificateVerdict(refused: .malformed) }
    return DeviceCertificateVerdict(
        result: .accepted,
        key: key,
        spkiDigest: Digest.sha256(certificate.x509.spki.span),
        notBefore: certificate.notBefore,
        notAfter: certificate.notAfter
    )
}

extension DeviceCertificateVerdict {
    fileprivate init(refused result: Result) {
        self.init(result: result, key: nil, spkiDigest: [], notBefore: 0, notAfter: 0)
    }
}

extension PublicKey.Kind {
    /// Whether devices can sign with such a key. RSA above 4096 bits costs more to verify than a handshake.
    package func isFitForDevice(minimumRSABits: Int = 1_024) -> Bool {
        switch self {
        case .p256: true
        case .rsa(let bits): (minimumRSABits...max(4_096, minimumRSABits)).contains(bits)
        case .other: false
        }
    }
}
