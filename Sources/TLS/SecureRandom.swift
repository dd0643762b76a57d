import COpenSSL

/// Bytes that nobody can guess.
package enum SecureRandom {
    /// So many random bytes. Without a working generator no secret is safe, so a failure ends the process.
    package static func bytes(_ count: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        let made = RAND_bytes(&result, Int32(count))
        precondition(made == 1, "OpenSSL has no random bytes")
        return result
    }
}
