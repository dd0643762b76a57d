import COpenSSL

/// One TLS connection: ciphertext in, plaintext out, and back. It belongs to one thread and owns no socket.
package final class TLSSession {
    let raw: OpaquePointer
    private let context: TLSContext
    private(set) var transport: TLSTransport
    /// Whether the handshake is done; data may be sent from then on.
    package private(set) var isEstablished = false
    /// Whether the peer has said that it sends no more (close_notify).
    package private(set) var isPeerClosed = false
    private(set) var hasFailed = false
    /// Messages of TLS itself that one `receive` takes: a KeyUpdate has 27 bytes and costs 16 µs, so as many as fit
    /// into one would hold up all others of the loop. Good peers send one in an hour.
    package static let messagesPerTurn = 64
    /// Another loop has it now, or its keys have left it.
    var isGone = false

    /// The server's side of a new connection.
    package init(context: TLSContext, transport: TLSTransport) throws(TLSError) {
        raw = try make(TLSError.library) { SSL_new(context.raw) }
        self.context = context
        self.transport = transport
        attach()
        SSL_set_accept_state(raw)
        if context.detaches { try TrafficWatch.begin(raw) }
    }

    /// The client's side: `host`, a name or an address, is asked for and must be in the server's certificate.
    package init(client context: TLSContext, transport: TLSTransport, host: String) throws(TLSError) {
        raw = try make(TLSError.library) { SSL_new(context.raw) }
        self.context = context
        self.transport = transport
        attach()
        SSL_set_connect_state(raw)
        try expect(host)
    }

    /// Takes a session up where another loop parked it; `context` is this loop's. Each parked session is resumed once.
    package init(resuming parked: ParkedTLSSession, context: TLSContext, transport: TLSTransport) {
        precondition(SSL_get_rbio(parked.raw) == nil, "the session was resumed before")
        // A KeyUpdate looks at what `TrafficWatch` changes in the context, so it must not be another thread's.
        precondition(SSL_set_SSL_CTX(parked.raw, context.raw) != nil, "no memory for a session's certificates")
        SSL_up_ref(parked.raw)
        raw = parked.raw
        self.context = context
        isEstablished = parked.isEstablished
        isPeerClosed = parked.isPeerClosed
        self.transport = transport
        attach()
    }

    deinit { SSL_free(raw) }

    /// Begins the client's handshake; its first flight lands in the transport.
    package func start() throws(TLSError) {
        ERR_clear_error()
        let result = SSL_do_handshake(raw)
        guard result > 0 || SSL_get_error(raw, result) == SSL_ERROR_WANT_READ else { throw failure() }
    }

    /// Takes all of `ciphertext` and returns how many bytes of plaintext now lie in the transport.
    ///
    /// Handshake answers land in `transport.outgoing`, and so does the alert when this throws.
    package func receive(_ ciphertext: Span<UInt8>) throws(TLSError) -> Int {
        precondition(!isGone, "the session has left")
        guard !hasFailed else { throw .closed }
        return try ciphertext.withUnsafeBytes { (bytes) throws(TLSError) in
            transport.incoming = bytes
            defer { transport.incoming = UnsafeRawBufferPointer(start: nil, count: 0) }
            var (count, messages) = (0, 0)
            while let more = try read(to: count) {
                count += more
                if more == 0 { messages += 1 }
                guard messages <= Self.messagesPerTurn else {
                    hasFailed = true
                    throw .protocolError("\(messages) messages after the handshake at once")
                }
            }
            if !isEstablished { isEstablished = SSL_is_init_finished(raw) == 1 }
            return count
        }
    }

    /// Gives back the record buffers of a context that keeps them, unless a part of a record is in them.
    package func releaseBuffers() {
        if !isGone { _ = SSL_free_buffers(raw) }
    }

    /// Lets go of what only the handshake needed, 700 bytes: both ends' ephemeral keys, which OpenSSL would keep to the
    /// end of the session, of use to nobody but a thief, and the list of the client's ciphers.
    package func forgetHandshake() {
        guard isEstablished, !isGone else { return }
        ERR_clear_error()
        for get in [shim_SSL_get_tmp_key, shim_SSL_get_peer_tmp_key] {
            var key: OpaquePointer?
            guard get(raw, &key) == 1, let key else { continue }
            // A key whose type is set again is an empty one.
            EVP_PKEY_set_type(key, EVP_PKEY_get_id(key))
            EVP_PKEY_free(key)
        }
        guard let ciphers = SSL_get_client_ciphers(raw) else { return }
        shim_sk_SSL_CIPHER_zero(ciphers)
        // Reserving nothing more shrinks the list to what it holds.
        shim_sk_SSL_CIPHER_reserve(ciphers, 0)
    }

    /// Encrypts `plaintext` into `transport.outgoing`, in records as large as TLS allows.
    package func send(_ plaintext: Span<UInt8>) throws(TLSError) {
        precondition(!isGone, "the session has left")
        guard !hasFailed, SSL_get_shutdown(raw) & SSL_SENT_SHUTDOWN == 0 else { throw .closed }
        guard isEstablished else { throw .notEstablished }
        // OpenSSL leaves a write of nothing undefined.
        guard !plaintext.isEmpty else { return }
        // The transport takes all it is given, so one call writes everything.
        let written = plaintext.withUnsafeBytes { bytes in
            var written = 0
            ERR_clear_error()
            return SSL_write_ex(raw, bytes.baseAddress, bytes.count, &written) == 1 ? written : 0
        }
        guard written == plaintext.count else { throw failure() }
    }

    /// Says that no more will be sent (close_notify); a session closed so may be resumed by its ticket.
    package func shutdown() {
        precondition(!isGone, "the session has left")
        // Before the handshake's end OpenSSL has nothing to close and would leave an error behind.
        guard isEstablished, !hasFailed else { return }
        ERR_clear_error()
        SSL_shutdown(raw)
    }

    /// Hands the session to the transport of another loop; the old one must have been emptied.
    package func move(to transport: TLSTransport) {
        // OpenSSL takes no reference when nothing changes, so ours would leak.
        guard transport !== self.transport else { return }
        self.transport = transport
        attach()
    }

    /// Lets go of the transport, so that the session can travel to another thread. This object is of no use after.
    package func park() -> ParkedTLSSession {
        precondition(!isGone && !hasFailed, "only a live session can move")
        isGone = true
        SSL_set_bio(raw, nil, nil)
        SSL_up_ref(raw)
        return ParkedTLSSession(owning: raw, of: self)
    }

    private func attach() {
        BIO_up_ref(transport.bio)
        SSL_set_bio(raw, transport.bio, transport.bio)
    }

    /// Sets what the server's certificate must be for, and the name it is asked by.
    private func expect(_ host: String) throws(TLSError) {
        // To OpenSSL an empty name means "any", and a zero byte ends it.
        guard !host.isEmpty, !host.utf8.contains(0) else { throw .credentials("'\(host)' is not a host") }
        // An address is not a name: it is looked for among the certificate's addresses, and SNI must not carry it.
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(raw), host) == 1 { return }
        SSL_set_hostflags(raw, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        try attempt(TLSError.credentials) { SSL_set1_host(raw, host) }
        try attempt(TLSError.credentials) { shim_SSL_set_tlsext_host_name(raw, host) }
    }

    /// Decrypts at most one record behind `count` bytes of plaintext; 0 if it was a message of TLS itself, nil when
    /// there is no more to read.
    private func read(to count: Int) throws(TLSError) -> Int? {
        if count == transport.plaintext.count {
            // Plaintext is never longer than its ciphertext, so the caller's read size bounds this.
            transport.plaintext.append(contentsOf: repeatElement(0, count: count))
        }
        var more = 0
        ERR_clear_error()
        let result = transport.plaintext.withUnsafeMutableBytes { buffer in
            SSL_read_ex(raw, buffer.baseAddress! + count, buffer.count - count, &more)
        }
        if result == 1 { return more }
        switch SSL_get_error(raw, result) {
        case SSL_ERROR_WANT_READ:
            return transport.incoming.isEmpty ? nil : 0
        case SSL_ERROR_ZERO_RETURN:
            isPeerClosed = true
            return nil
        default:
            throw failure()
        }
    }

    /// Marks the session dead and says why, in OpenSSL's words.
    private func failure() -> TLSError {
        hasFailed = true
        let reason = queuedReason()
        let verdict = SSL_get_verify_result(raw)
        guard verdict != X509_V_OK, SSL_get_verify_mode(raw) != SSL_VERIFY_NONE, SSL_is_server(raw) == 0 else {
            return .protocolError(reason)
        }
        return .protocolError("\(reason): \(String(cString: X509_verify_cert_error_string(verdict)))")
    }
}

// What the handshake settled.
extension TLSSession {
    /// The protocol that ALPN chose, if any.
    package var alpn: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(raw, &name, &count)
        guard let name, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// `TLSv1.2` or `TLSv1.3`.
    package var version: String { String(cString: SSL_get_version(raw)) }

    /// The host the client asked for (SNI), if it said one.
    package var negotiatedHost: String? {
        SSL_get_servername(raw, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
    }

    /// The certificate the peer presented and proved to hold the key of; nothing else of it is verified for a server.
    package var peerCertificateDER: [UInt8]? {
        SSL_get1_peer_certificate(raw).map { X509(owning: $0).der }
    }

    /// Keying material that only the two ends of this session know (RFC 8446, 7.5).
    package func exporter(label: String, context: [UInt8], count: Int) throws(TLSError) -> [UInt8] {
        guard isEstablished else { throw .notEstablished }
        // Below TLS 1.3 a session without it can be made to export what another session exports (RFC 7627).
        guard SSL_version(raw) >= TLS1_3_VERSION || shim_SSL_get_extms_support(raw) == 1 else {
            throw .protocolError("the session has no extended master secret")
        }
        var material = [UInt8](repeating: 0, count: count)
        let labelCount = label.utf8.count
        // In TLS 1.3 no context and an empty one are the same; in 1.2 most libraries then mean none.
        let usesContext: Int32 = context.isEmpty ? 0 : 1
        try attempt(TLSError.library) {
            SSL_export_keying_material(
                raw,
                &material,
                count,
                label,
                labelCount,
                context,
                context.count,
                usesContext
            )
        }
        return material
    }
}

/// A session on its way from one loop to another. It does nothing until it is resumed, and dies if it is not.
package final class ParkedTLSSession: Sendable {
    private let address: UInt
    fileprivate let isEstablished: Bool
    fileprivate let isPeerClosed: Bool

    fileprivate var raw: OpaquePointer { OpaquePointer(bitPattern: address)! }

    fileprivate init(owning raw: OpaquePointer, of session: TLSSession) {
        address = UInt(bitPattern: raw)
        isEstablished = session.isEstablished
        isPeerClosed = session.isPeerClosed
    }

    deinit { SSL_free(raw) }
}
