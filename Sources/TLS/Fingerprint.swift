import COpenSSL

/// SHA-256 of a message, as a value to find things by: it has no memory of its own.
package struct Fingerprint: Hashable, Sendable {
    private var words = SIMD4<UInt64>.zero

    package init(of message: Span<UInt8>) {
        let made = withUnsafeMutableBytes(of: &words) { hash in
            message.withUnsafeBytes { bytes in
                EVP_Digest(bytes.baseAddress, bytes.count, hash.baseAddress, nil, EVP_sha256(), nil)
            }
        }
        precondition(made == 1, "OpenSSL cannot hash")
    }
}
