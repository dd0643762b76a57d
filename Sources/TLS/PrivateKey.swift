import COpenSSL

/// A private key kept parsed; immutable, so threads may share it.
package final class PrivateKey: Sendable {
    /// The half that may be given away.
    package let publicKey: PublicKey
    // An address, because a pointer is not Sendable. OpenSSL only reads a key that is complete.
    private let address: UInt

    var raw: OpaquePointer { OpaquePointer(bitPattern: address)! }

    private init(owning raw: OpaquePointer) throws(TLSError) {
        address = UInt(bitPattern: raw)
        do {
            publicKey = try PublicKey(spki: encodeDER { i2d_PUBKEY(raw, $0) })
        } catch {
            EVP_PKEY_free(raw)
            throw error
        }
    }

    /// Makes a key for ECDSA on P-256.
    package static func p256() throws(TLSError) -> PrivateKey {
        try PrivateKey(owning: try make(TLSError.library) { shim_EVP_EC_gen(SN_X9_62_prime256v1) })
    }

    /// Makes an RSA key.
    package static func rsa(bits: Int) throws(TLSError) -> PrivateKey {
        guard (512...16_384).contains(bits) else { throw .credentials("an RSA key cannot have \(bits) bits") }
        return try PrivateKey(owning: try make(TLSError.library) { shim_EVP_RSA_gen(UInt32(bits)) })
    }

    /// Reads a private key in PEM: PKCS#8 without a pass phrase, or the older forms of EC and RSA.
    package convenience init(pem: [UInt8]) throws(TLSError) {
        try self.init(owning: try readPEM(pem) { PEM_read_bio_PrivateKey($0, nil, noPassphrase, nil) })
    }

    /// Reads every private key of a PEM text: while a pair is replaced, the old and the new stand in one file.
    package static func all(pem: [UInt8]) throws(TLSError) -> [PrivateKey] {
        let found = try readPEM(pem) { bio in
            var found: [OpaquePointer] = []
            while let raw = PEM_read_bio_PrivateKey(bio, nil, noPassphrase, nil) { found.append(raw) }
            return found.isEmpty ? nil : found
        }
        var keys: [PrivateKey] = []
        for raw in found { keys.append(try PrivateKey(owning: raw)) }
        return keys
    }

    deinit { EVP_PKEY_free(raw) }

    /// The key in PEM (PKCS#8), as a `.p8` file holds it. A secret.
    package var pem: [UInt8] {
        writePEM { PEM_write_bio_PrivateKey($0, raw, nil, nil, 0, noPassphrase, nil) }
    }

    /// ECDSA P-256 with SHA-256 as JWTs carry it: 64 bytes, r then s.
    package func signES256(_ message: Span<UInt8>) throws(TLSError) -> [UInt8] {
        try ECDSASignature.raw(der: signECDSASHA256DER(message))
    }

    /// ECDSA P-256 with SHA-256, the signature in DER.
    package func signECDSASHA256DER(_ message: Span<UInt8>) throws(TLSError) -> [UInt8] {
        guard publicKey.kind == .p256 else { throw .credentials("not a P-256 key") }
        return try sign(message, digest: EVP_sha256())
    }

    /// RSASSA-PKCS1-v1_5 with SHA-1, the device protocol's `01 01`.
    package func signRSASHA1(_ message: Span<UInt8>) throws(TLSError) -> [UInt8] {
        guard case .rsa = publicKey.kind else { throw .credentials("not an RSA key") }
        return try sign(message, digest: EVP_sha1())
    }

    private func sign(_ message: Span<UInt8>, digest: OpaquePointer?) throws(TLSError) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        try attempt(TLSError.library) { EVP_DigestSignInit(context, nil, digest, nil, raw) }
        var count = Int(EVP_PKEY_get_size(raw))
        var signature = [UInt8](repeating: 0, count: count)
        try message.withUnsafeBufferPointer { (message) throws(TLSError) in
            _ = try attempt(TLSError.library) {
                EVP_DigestSign(context, &signature, &count, message.baseAddress, message.count)
            }
        }
        signature.removeLast(signature.count - count)
        return signature
    }
}
