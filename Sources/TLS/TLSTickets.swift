import COpenSSL

/// Whether a listener lets its clients resume their sessions.
package enum TLSTickets: Sendable {
    /// Each connection is a full handshake.
    case none
    /// So many tickets per handshake, also in TLS 1.2, good with the context that gave them.
    case own(Int)
    /// One ticket per handshake of TLS 1.3, good with each context that has the same keys. TLS 1.2 has none: whoever
    /// got the keys of its tickets could read recorded sessions, which in 1.3 have their own key exchange.
    case shared(TicketKeys)
}

/// What tickets are sealed with, and how long they are good. The keys are zeroed when nobody needs them to make a
/// context, and never written anywhere.
package final class TicketKeys: Sendable {
    /// As OpenSSL takes them: a name of 16 bytes, a key for HMAC-SHA-256 and one for AES-256.
    private static let count = 16 + 32 + 32

    // An address, because a pointer is not Sendable. Nothing changes there until the end.
    private let address: UInt
    private let lifeSeconds: Int

    /// Makes new keys. Without a working generator no secret is safe, so a failure ends the process.
    package init(lifeSeconds: Int) {
        precondition(lifeSeconds > 0, "OpenSSL takes 0 for a life of its own choice")
        let start = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.count)
        start.initialize(repeating: 0, count: Self.count)
        let made = RAND_priv_bytes(start, Int32(Self.count))
        precondition(made == 1, "OpenSSL has no random bytes")
        address = UInt(bitPattern: start)
        self.lifeSeconds = lifeSeconds
    }

    deinit {
        let start = UnsafeMutablePointer<UInt8>(bitPattern: address)!
        OPENSSL_cleanse(start, Self.count)
        start.deallocate()
    }

    /// Has the context seal and open tickets with these keys. It copies them.
    func set(in context: OpaquePointer) throws(TLSError) {
        let start = UnsafeMutablePointer<UInt8>(bitPattern: address)
        try attempt(TLSError.library) { shim_SSL_CTX_set_tlsext_ticket_keys(context, start, Self.count) }
        SSL_CTX_set_timeout(context, lifeSeconds)
        // What comes before the handshake is done could be sent again by anybody.
        try attempt(TLSError.library) { SSL_CTX_set_max_early_data(context, 0) }
        // The first callback that knows the version; it also comes when the client names no server.
        shim_SSL_CTX_set_tlsext_servername_callback(context) { session, _, _ in
            if SSL_version(session) < TLS1_3_VERSION { SSL_set_options(session, shim_SSL_OP_NO_TICKET) }
            return SSL_TLSEXT_ERR_NOACK
        }
    }
}

/// What a server gave a client to resume a session with: it stands for the server's certificate, which is not asked for
/// again.
package final class TLSTicket {
    let raw: OpaquePointer

    /// A copy, because OpenSSL spoils the original when the connection ends without a goodbye. Nil if there is none, or
    /// the session has failed.
    fileprivate init?(of session: OpaquePointer) {
        guard let original = SSL_get_session(session), SSL_SESSION_is_resumable(original) == 1,
            let copy = SSL_SESSION_dup(original)
        else { return nil }
        raw = copy
    }

    deinit { SSL_SESSION_free(raw) }
}

extension TLSSession {
    /// The newest ticket that a client's session has been given, or else the one it offered.
    package var ticket: TLSTicket? { isGone ? nil : TLSTicket(of: raw) }

    /// Whether a ticket spared this session the certificate.
    package var wasResumed: Bool { SSL_session_reused(raw) == 1 }

    /// Has a client that has not begun offer a ticket; a server that does not like it asks for a full handshake.
    package func offer(_ ticket: TLSTicket) throws(TLSError) {
        try attempt(TLSError.library) { SSL_set_session(raw, ticket.raw) }
    }
}
