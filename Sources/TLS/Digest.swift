import COpenSSL

/// Hashes of whole messages.
package enum Digest {
    /// SHA-1, only because the device protocol names topics by it.
    package static func sha1(_ message: Span<UInt8>) -> [UInt8] {
        hash(message, digest: EVP_sha1(), count: Int(SHA_DIGEST_LENGTH))
    }

    /// SHA-256.
    package static func sha256(_ message: Span<UInt8>) -> [UInt8] {
        hash(message, digest: EVP_sha256(), count: Int(SHA256_DIGEST_LENGTH))
    }

    private static func hash(_ message: Span<UInt8>, digest: OpaquePointer?, count: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        let made = message.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &result, nil, digest, nil) }
        precondition(made == 1, "OpenSSL cannot hash")
        return result
    }
}

/// Whether two secrets are equal, in a time that depends on their lengths only.
package func constantTimeEqual(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    return a.withUnsafeBytes { a in
        b.withUnsafeBytes { b in a.isEmpty || CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0 }
    }
}

/// SHA-256 of a message that comes in parts.
package struct RunningDigest: ~Copyable {
    private let context = EVP_MD_CTX_new()

    package init() {
        let begun = EVP_DigestInit_ex(context, EVP_sha256(), nil)
        precondition(begun == 1, "OpenSSL cannot hash")
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Takes the next part.
    package func update(_ part: Span<UInt8>) {
        let taken = part.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
        precondition(taken == 1, "OpenSSL cannot hash")
    }

    /// The digest of all parts. Nothing may be taken after it.
    package func finish() -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        let made = EVP_DigestFinal_ex(context, &result, nil)
        precondition(made == 1, "OpenSSL cannot hash")
        return result
    }
}
