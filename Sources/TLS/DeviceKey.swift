import COpenSSL

/// What a device's certificate says of its key: what kind it is, and where it stands.
///
/// The certificate comes again with each Connect, so these six bytes are enough to remember; a parsed key has 2.4 KB.
package struct DeviceKey: Equatable, Sendable {
    /// How a device signs.
    package enum Kind: UInt8, Sendable {
        case p256
        case rsa
    }

    /// How the device signs.
    package let kind: Kind
    private let start: UInt16
    private let count: UInt16

    /// Where in the certificate the key itself stands: a point of P-256, or an RSAPublicKey (RFC 8017, A.1.1).
    package var place: Range<Int> { Int(start)..<(Int(start) + Int(count)) }

    /// Finds the key of a certificate; nil if it is no device's or the certificate is longer than any.
    init?(of certificate: Certificate) {
        switch certificate.publicKey.kind {
        case .p256: kind = .p256
        case .rsa: kind = .rsa
        case .other: return nil
        }
        guard let place = certificate.x509.keyPlace(in: certificate.der.span),
            let start = UInt16(exactly: place.lowerBound), let count = UInt16(exactly: place.count)
        else { return nil }
        (self.start, self.count) = (start, count)
    }
}

extension X509 {
    /// Where in its DER the bits of its key stand. If the same bytes are there twice, they are the same key.
    fileprivate func keyPlace(in der: Span<UInt8>) -> Range<Int>? {
        guard let bits = X509_get0_pubkey_bitstr(raw), let data = ASN1_STRING_get0_data(bits) else { return nil }
        let key = UnsafeBufferPointer(start: data, count: Int(ASN1_STRING_length(bits))).span
        guard !key.isEmpty, key.count <= der.count else { return nil }
        return (0...(der.count - key.count)).lazy
            .first { start in key.indices.allSatisfy { der[start + $0] == key[$0] } }
            .map { $0..<($0 + key.count) }
    }
}
