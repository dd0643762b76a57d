/// What is kept of a secret that somebody will present: its SHA-256, which tells nothing of it.
///
/// `==` takes the same time wherever two differ, and a secret's length does not show either, because only digests are
/// compared. There is no other way to compare two of these.
package struct SecretDigest: Equatable, Sendable {
    private let bytes: [UInt8]

    /// The digest of a secret, which is only borrowed.
    package init(of secret: Span<UInt8>) { bytes = Digest.sha256(secret) }

    package static func == (a: SecretDigest, b: SecretDigest) -> Bool {
        constantTimeEqual(a.bytes.span, b.bytes.span)
    }
}

extension SecretDigest: CustomStringConvertible {
    /// Nothing, so that no log shows it.
    package var description: String { "secret" }
}
