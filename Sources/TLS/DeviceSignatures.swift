import COpenSSL

/// Verifies what the devices of one loop sign, with keys that stand in their certificates.
///
/// All of P-256 go through one key whose point is replaced: that costs 2 us, a key of its own 40 us and one that is
/// parsed from its DER 200 us, beside 60 us for the signature.
package final class DeviceSignatures {
    private let key: OpaquePointer
    private let context: OpaquePointer

    package init() {
        let key = p256Parameters()
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else {
            preconditionFailure("no memory for a key")
        }
        (self.key, self.context) = (key, context)
    }

    deinit {
        EVP_PKEY_CTX_free(context)
        EVP_PKEY_free(key)
    }

    /// ECDSA P-256 with SHA-256, the signature in DER; `point` is what `DeviceKey.place` names.
    package func verifyECDSASHA256(_ message: Span<UInt8>, signature: Span<UInt8>, point: Span<UInt8>) -> Bool {
        ERR_clear_error()
        let isSet = point.withUnsafeBufferPointer { EVP_PKEY_set1_encoded_public_key(key, $0.baseAddress, $0.count) }
        // What a failure leaves behind is replaced before the next use.
        guard isSet == 1, EVP_PKEY_verify_init(context) == 1 else { return false }
        let hash = Digest.sha256(message)
        return signature.withUnsafeBufferPointer { signature in
            EVP_PKEY_verify(context, signature.baseAddress, signature.count, hash, hash.count) == 1
        }
    }

    /// RSASSA-PKCS1-v1_5 with SHA-1; `key` is what `DeviceKey.place` names. Parsed each time, which costs 9 us.
    package func verifyRSASHA1(_ message: Span<UInt8>, signature: Span<UInt8>, key: Span<UInt8>) -> Bool {
        do throws(TLSError) {
            return try PublicKey(rsa: key).verifyRSASHA1(message, signature: signature)
        } catch {
            // It was good when the certificate was judged.
            return false
        }
    }
}

/// A key of P-256 that has no point yet. Without it our own certificates could not have been read.
private func p256Parameters() -> OpaquePointer {
    let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_paramgen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, SN_X9_62_prime256v1) == 1,
        EVP_PKEY_paramgen(context, &key) == 1, let key
    else { preconditionFailure("OpenSSL has no P-256") }
    return key
}
