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
    func access(_ authorization: String?) -> AdminAccess? {
        let given = Array((authorization ?? "").utf8)
        let scheme = Array("Bearer ".utf8)
        guard given.starts(with: scheme) else { return nil }
        let digest = SecretDigest(of: given.span.extracting(droppingFirst: scheme.count))
        let (isFull, isReadOnly) = (digest == full, digest == readOnly)
        return isFull ? .full : isReadOnly ? .readOnly : nil
    }
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
