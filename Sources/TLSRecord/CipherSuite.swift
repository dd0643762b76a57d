import COpenSSL

/// How a TLS 1.3 session encrypts and derives its keys, by its number on the wire (RFC 8446, B.4).
package enum CipherSuite: UInt16, CaseIterable, Sendable {
    case aes128GCMSHA256 = 0x1301
    case aes256GCMSHA384 = 0x1302
    case chaCha20Poly1305SHA256 = 0x1303

    /// Bytes of a traffic secret, and of the hash.
    package var secretCount: Int { self == .aes256GCMSHA384 ? 48 : 32 }
    /// Bytes of a key.
    package var keyCount: Int { self == .aes128GCMSHA256 ? 16 : 32 }

    var hash: OpaquePointer { self == .aes256GCMSHA384 ? EVP_sha384() : EVP_sha256() }

    /// OpenSSL's implementation. A suite that it does not have cannot have been negotiated.
    var cipher: OpaquePointer {
        switch self {
        case .aes128GCMSHA256: FetchedCipher.aes128GCM.raw
        case .aes256GCMSHA384: FetchedCipher.aes256GCM.raw
        case .chaCha20Poly1305SHA256: FetchedCipher.chaCha20Poly1305.raw
        }
    }

    /// Bytes of a nonce, in all suites.
    static let nonceCount = 12
    /// Bytes of the tag behind a sealed record, in all suites.
    static let tagCount = 16
}

/// A cipher that OpenSSL has looked up: once for the process, because that costs more than a record. Never freed.
private struct FetchedCipher {
    static let aes128GCM = FetchedCipher("AES-128-GCM")
    static let aes256GCM = FetchedCipher("AES-256-GCM")
    static let chaCha20Poly1305 = FetchedCipher("ChaCha20-Poly1305")

    // An address rather than a pointer, because a pointer cannot be shared between threads; the cipher never changes.
    private let address: UInt
    var raw: OpaquePointer { OpaquePointer(bitPattern: address)! }

    private init(_ name: String) {
        guard let cipher = EVP_CIPHER_fetch(nil, name, nil) else { preconditionFailure("OpenSSL has no \(name)") }
        address = UInt(bitPattern: cipher)
    }
}
