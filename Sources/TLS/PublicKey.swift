import COpenSSL

/// A public key kept parsed, because parsing costs five times as much as verifying with it.
package final class PublicKey: Sendable {
    /// What the key can verify.
    package enum Kind: Hashable, Sendable {
        case p256
        case rsa(bits: Int)
        case other
    }

    /// What the key can verify.
    package let kind: Kind
    // An address, because a pointer is not Sendable. OpenSSL only reads a key that is complete.
    private let address: UInt

    var raw: OpaquePointer { OpaquePointer(bitPattern: address)! }

    init(owning raw: OpaquePointer) {
        address = UInt(bitPattern: raw)
        kind = Kind(of: raw)
    }

    /// Reads a `PUBLIC KEY` in PEM.
    package convenience init(pem: [UInt8]) throws(TLSError) {
        self.init(owning: try readPEM(pem) { PEM_read_bio_PUBKEY($0, nil, noPassphrase, nil) })
    }

    /// Reads a SubjectPublicKeyInfo in DER.
    package convenience init(spki: [UInt8]) throws(TLSError) {
        self.init(owning: try decodeDER(spki.span, free: { EVP_PKEY_free($0) }) { d2i_PUBKEY(nil, $0, $1) })
    }

    /// Reads an RSAPublicKey in DER.
    convenience init(rsa der: Span<UInt8>) throws(TLSError) {
        self.init(
            owning: try decodeDER(der, free: { EVP_PKEY_free($0) }) { d2i_PublicKey(EVP_PKEY_RSA, nil, $0, $1) }
        )
    }

    deinit { EVP_PKEY_free(raw) }

    /// The key as SubjectPublicKeyInfo in DER.
    package var spki: [UInt8] { encodeDER { i2d_PUBKEY(raw, $0) } }

    /// The key as `PUBLIC KEY` in PEM.
    package var pem: [UInt8] { writePEM { PEM_write_bio_PUBKEY($0, raw) } }

    /// ECDSA P-256 with SHA-256 as JWTs carry it: 64 bytes, r then s. DER is taken too; some senders emit it.
    package func verifyES256(_ message: Span<UInt8>, signature: Span<UInt8>) -> Bool {
        guard signature.count == ECDSASignature.rawCount else {
            return verifyECDSASHA256DER(message, signature: signature)
        }
        let der = ECDSASignature.der(raw: signature)
        return verifyECDSASHA256DER(message, signature: der.span)
    }

    /// ECDSA P-256 with SHA-256, the signature in DER.
    package func verifyECDSASHA256DER(_ message: Span<UInt8>, signature: Span<UInt8>) -> Bool {
        kind == .p256 && verify(message, signature: signature, digest: EVP_sha256())
    }

    /// RSASSA-PKCS1-v1_5 with SHA-1, the device protocol's `01 01`.
    package func verifyRSASHA1(_ message: Span<UInt8>, signature: Span<UInt8>) -> Bool {
        guard case .rsa = kind else { return false }
        return verify(message, signature: signature, digest: EVP_sha1())
    }

    private func verify(_ message: Span<UInt8>, signature: Span<UInt8>, digest: OpaquePointer?) -> Bool {
        ERR_clear_error()
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, digest, nil, raw) == 1 else { return false }
        return signature.withUnsafeBufferPointer { signature in
            message.withUnsafeBufferPointer { message in
                EVP_DigestVerify(
                    context,
                    signature.baseAddress,
                    signature.count,
                    message.baseAddress,
                    message.count
                ) == 1
            }
        }
    }
}

extension PublicKey.Kind {
    fileprivate init(of raw: OpaquePointer) {
        switch EVP_PKEY_get_base_id(raw) {
        case EVP_PKEY_RSA: self = .rsa(bits: Int(EVP_PKEY_get_bits(raw)))
        case EVP_PKEY_EC: self = groupName(of: raw) == SN_X9_62_prime256v1 ? .p256 : .other
        default: self = .other
        }
    }
}

private func groupName(of raw: OpaquePointer) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { name in
        var count = 0
        guard EVP_PKEY_get_group_name(raw, name.baseAddress, name.count, &count) == 1 else { return "" }
        return String(cString: name.baseAddress!)
    }
}
