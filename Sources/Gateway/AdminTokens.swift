import Admin
package import TLS

/// What admits to the admin API. Only digests are kept and compared.
package struct AdminTokens: Sendable {
    private let full: SecretDigest?
    private let readOnly: SecretDigest?

    /// nil is a token that is not there: it admits nobody.
    package init(full: SecretDigest?, readOnly: SecretDigest?) {
        self.full = full
        self.readOnly = readOnly
    }

    /// Whether anybody is admitted to everything.
    var admitsOperators: Bool { full != nil }

    /// What the bearer of `authorization` may do; nil without a good token. Both are always compared.
    func access(_ authorization: SecretBytes?) -> AdminAccess? {
        guard let digest = authorization?.withSpan(bearer) else { return nil }
        let (isFull, isReadOnly) = (digest == full, digest == readOnly)
        return isFull ? .full : isReadOnly ? .readOnly : nil
    }
}

/// The digest of what follows `Bearer `; nil when something else stands there.
private func bearer(_ header: Span<UInt8>) -> SecretDigest? {
    let scheme = Array("Bearer ".utf8)
    guard header.count > scheme.count, scheme.indices.allSatisfy({ header[$0] == scheme[$0] }) else { return nil }
    return SecretDigest(of: header.extracting(droppingFirst: scheme.count))
}

/// What a token lets its bearer do.
enum AdminAccess: Equatable, Sendable {
    case full
    case readOnly

    /// Refuses what the token is not for.
    func check(_ request: AdminRequest) throws(AdminFailure) {
        guard self == .readOnly else { return }
        guard request.method == "GET" else { throw .forbidden("the read-only token changes nothing") }
        guard request.query["payload"] == nil else { throw .forbidden("the read-only token shows no payloads") }
    }
}
