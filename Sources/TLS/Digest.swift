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

    /// HMAC with SHA-256 (RFC 2104).
    package static func hmacSHA256(key: Span<UInt8>, message: Span<UInt8>) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        let made = key.withUnsafeBytes { key in
            message.withUnsafeBufferPointer { message in
                // A missing key would mean "the last one" to OpenSSL, so an empty one still needs an address.
                withUnsafeBytes(of: UInt8(0)) { none in
                    HMAC(
                        EVP_sha256(),
                        key.baseAddress ?? none.baseAddress,
                        Int32(key.count),
                        message.baseAddress,
                        message.count,
                        &result,
                        nil
                    ) != nil
                }
            }
        }
        precondition(made, "OpenSSL cannot make an HMAC")
        return result
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
