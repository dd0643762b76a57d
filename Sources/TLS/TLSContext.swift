import COpenSSL

/// Certificates, protocols and ALPN of one listener or client: made once, immutable, shared by all loops; but for the
/// contexts of listeners that detach, which `TrafficWatch` changes, so each loop has its own.
package final class TLSContext: Sendable {
    // An address, because a pointer is not Sendable. SSL_new may be called from any thread once all is set.
    private let address: UInt
    /// The server's protocol names as they stand on the wire, best first.
    private let protocols: [[UInt8]]
    /// Whether each session has a `TrafficWatch`.
    let detaches: Bool

    var raw: OpaquePointer { OpaquePointer(bitPattern: address)! }

    private init(method: OpaquePointer?, protocols: [[UInt8]], detaches: Bool = false) throws(TLSError) {
        let raw = try make(TLSError.library) { SSL_CTX_new(method) }
        address = UInt(bitPattern: raw)
        self.protocols = protocols
        self.detaches = detaches
        try attempt(TLSError.library) { shim_SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) }
        // Set here, not left to the distribution's openssl.cnf: 112 bits, so no SHA-1 and no RSA below 2048 in TLS.
        SSL_CTX_set_security_level(raw, 2)
        SSL_CTX_set_options(raw, shim_SSL_OP_NO_RENEGOTIATION)
        // An idle session gives its record buffers back: 14 KB instead of 23 KB each.
        shim_SSL_CTX_set_mode(raw, Int(SSL_MODE_RELEASE_BUFFERS))
        // A read returns after each message that is none of the peer's data, so that somebody counts them.
        shim_SSL_CTX_clear_mode(raw, Int(SSL_MODE_AUTO_RETRY))
        shim_SSL_CTX_set_session_cache_mode(raw, Int(SSL_SESS_CACHE_OFF))
    }

    deinit { SSL_CTX_free(raw) }

    /// A listener's context. The chain starts with the server's own certificate.
    package static func server(
        certificateChainPEM: [UInt8],
        keyPEM: [UInt8],
        options: TLSServerOptions
    ) throws(TLSError) -> TLSContext {
        let protocols = try options.alpn.map(wireName)
        let context = try TLSContext(method: TLS_server_method(), protocols: protocols, detaches: options.detaches)
        try context.use(certificateChainPEM: certificateChainPEM, keyPEM: keyPEM)
        try context.preferCheapSuites()
        try context.setTickets(options.tickets)
        if options.asksForClientCertificate { try context.askForCertificate(naming: options.clientCAPEM) }
        if options.keepsBuffers { shim_SSL_CTX_clear_mode(context.raw, Int(SSL_MODE_RELEASE_BUFFERS)) }
        if options.detaches { TrafficWatch.setCallback(of: context.raw) }
        // The session holds the context, so it is alive whenever OpenSSL calls.
        SSL_CTX_set_alpn_select_cb(context.raw, selectProtocol, Unmanaged.passUnretained(context).toOpaque())
        return context
    }

    /// A client's context. Without `caPEM` nothing is verified, which only tests may want.
    package static func client(caPEM: [UInt8]?, alpn: [String]) throws(TLSError) -> TLSContext {
        let context = try TLSContext(method: TLS_client_method(), protocols: [])
        if let caPEM { try context.trust(caPEM) }
        let list = try alpn.map(wireName).flatMap { $0 }
        // This call alone answers 0 for success.
        guard list.isEmpty || SSL_CTX_set_alpn_protos(context.raw, list, UInt32(list.count)) == 0 else {
            throw .library("ALPN list refused")
        }
        return context
    }

    /// A client's context with a certificate to present when the server asks for one.
    package static func client(
        caPEM: [UInt8]?,
        alpn: [String],
        certificateChainPEM: [UInt8],
        keyPEM: [UInt8]
    ) throws(TLSError) -> TLSContext {
        let context = try client(caPEM: caPEM, alpn: alpn)
        try context.use(certificateChainPEM: certificateChainPEM, keyPEM: keyPEM)
        return context
    }

    private func use(certificateChainPEM: [UInt8], keyPEM: [UInt8]) throws(TLSError) {
        let chain = try readCertificates(certificateChainPEM)
        let key = try PrivateKey(pem: keyPEM)
        try attempt(TLSError.credentials) { SSL_CTX_use_certificate(raw, chain[0].raw) }
        for certificate in chain.dropFirst() {
            try attempt(TLSError.credentials) { shim_SSL_CTX_add1_chain_cert(raw, certificate.raw) }
        }
        try attempt(TLSError.credentials) { SSL_CTX_use_PrivateKey(raw, key.raw) }
        try attempt(TLSError.credentials) { SSL_CTX_check_private_key(raw) }
    }

    /// SHA-256 and AES-128 are as strong as the keys of the handshake, and make it 5 % cheaper than what most clients
    /// put first. Who puts ChaCha20 first has no AES in hardware, and gets it.
    private func preferCheapSuites() throws(TLSError) {
        SSL_CTX_set_options(raw, shim_SSL_OP_CIPHER_SERVER_PREFERENCE | shim_SSL_OP_PRIORITIZE_CHACHA)
        let suites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"
        try attempt(TLSError.library) { SSL_CTX_set_ciphersuites(raw, suites) }
    }

    private func setTickets(_ tickets: TLSTickets) throws(TLSError) {
        let count: Int
        switch tickets {
        case .none:
            count = 0
            // The option is for TLS 1.2; in 1.3 the count alone decides.
            SSL_CTX_set_options(raw, shim_SSL_OP_NO_TICKET)
        case .own(let wanted): count = wanted
        case .shared(let keys):
            count = 1
            try keys.set(in: raw)
        }
        try attempt(TLSError.library) { SSL_CTX_set_num_tickets(raw, count) }
        // Without a name a resumed session of a listener that asks for certificates is refused.
        let name: [UInt8] = Array("carillon".utf8)
        try attempt(TLSError.library) { SSL_CTX_set_session_id_context(raw, name, UInt32(name.count)) }
    }

    private func askForCertificate(naming authorities: [UInt8]?) throws(TLSError) {
        // Whatever is presented passes here: its purpose, issuer and dates are judged by the door it came to.
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER) { _, _ in 1 }
        guard let authorities else { return }
        try trust(authorities)
        for certificate in try readCertificates(authorities) {
            try attempt(TLSError.credentials) { SSL_CTX_add_client_CA(raw, certificate.raw) }
        }
    }

    private func trust(_ caPEM: [UInt8]) throws(TLSError) {
        for certificate in try readCertificates(caPEM) {
            try attempt(TLSError.credentials) { X509_STORE_add_cert(SSL_CTX_get_cert_store(raw), certificate.raw) }
        }
        if SSL_CTX_get_verify_mode(raw) == SSL_VERIFY_NONE { SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil) }
    }

    /// Allows one version only, by its number on the wire: tests play older peers with it.
    func limit(to version: UInt16) throws(TLSError) {
        try attempt(TLSError.library) { shim_SSL_CTX_set_min_proto_version(raw, Int32(version)) }
        try attempt(TLSError.library) { shim_SSL_CTX_set_max_proto_version(raw, Int32(version)) }
    }

    /// Finds the best of our protocols in the client's list, as a range in that list.
    fileprivate func choose(from offered: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>>? {
        for name in protocols {
            var start = 0
            while start < offered.count {
                let end = start + 1 + Int(offered[start])
                guard end <= offered.count else { break }
                if offered[start..<end].elementsEqual(name) { return offered[(start + 1)..<end] }
                start = end
            }
        }
        return nil
    }
}

/// Answers OpenSSL from the context's immutable list; the name it points to lies in the client's own message.
private func selectProtocol(
    _: OpaquePointer?,
    chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    length: UnsafeMutablePointer<UInt8>?,
    offered: UnsafePointer<UInt8>?,
    count: UInt32,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let offered, let context else { return SSL_TLSEXT_ERR_NOACK }
    let list = UnsafeBufferPointer(start: offered, count: Int(count))
    let name = Unmanaged<TLSContext>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.choose(from: list) }
    guard let name else { return SSL_TLSEXT_ERR_NOACK }
    chosen?.pointee = offered + name.startIndex
    length?.pointee = UInt8(name.count)
    return SSL_TLSEXT_ERR_OK
}

/// An ALPN name behind its length, as RFC 7301 writes it.
private func wireName(_ name: String) throws(TLSError) -> [UInt8] {
    guard let length = UInt8(exactly: name.utf8.count), length > 0 else {
        throw .credentials("'\(name)' cannot be an ALPN name")
    }
    return [length] + Array(name.utf8)
}
