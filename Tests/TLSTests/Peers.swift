import TLS

/// An authority and one server certificate, made once for all tests: keys cost time.
struct Instance {
    static let shared = Result { () throws(TLSError) in try Instance() }

    let authority: CertificateAuthority
    let caPEM: [UInt8]
    let serverPEM: [UInt8]
    let serverKeyPEM: [UInt8]

    init() throws(TLSError) {
        let made = try CertificateAuthority.make(name: "Test CA", days: 10)
        authority = try CertificateAuthority(certificatePEM: made.certificatePEM, keyPEM: made.keyPEM)
        let server = try authority.issueServer(names: ["push.example.com", "127.0.0.1", "::1"], days: 10)
        caPEM = made.certificatePEM
        (serverPEM, serverKeyPEM) = (server.certificatePEM, server.keyPEM)
    }

    func serverContext(_ options: TLSServerOptions = TLSServerOptions()) throws(TLSError) -> TLSContext {
        try TLSContext.server(certificateChainPEM: serverPEM, keyPEM: serverKeyPEM, options: options)
    }

    func clientContext(alpn: [String] = []) throws(TLSError) -> TLSContext {
        try TLSContext.client(caPEM: caPEM, alpn: alpn)
    }
}

/// A client and a server that hear each other only through `exchange`.
struct Peers {
    let client: TLSSession
    var server: TLSSession
    let clientTransport = TLSTransport()
    var serverTransport = TLSTransport()
    /// How many bytes of ciphertext are handed over at a time.
    var cut = Int.max

    init(
        _ instance: Instance,
        server serverContext: TLSContext? = nil,
        client clientContext: TLSContext? = nil,
        host: String = "push.example.com"
    ) throws(TLSError) {
        let serverContext = if let serverContext { serverContext } else { try instance.serverContext() }
        let clientContext = if let clientContext { clientContext } else { try instance.clientContext() }
        server = try TLSSession(context: serverContext, transport: serverTransport)
        client = try TLSSession(client: clientContext, transport: clientTransport, host: host)
    }

    /// Both sides talk until neither has anything to say; returns what each then has read.
    @discardableResult
    func exchange() throws(TLSError) -> (atServer: [UInt8], atClient: [UInt8]) {
        var read: (atServer: [UInt8], atClient: [UInt8]) = ([], [])
        while !clientTransport.outgoing.isEmpty || !serverTransport.outgoing.isEmpty {
            read.atServer += try deliver(from: clientTransport, to: server, on: serverTransport)
            read.atClient += try deliver(from: serverTransport, to: client, on: clientTransport)
        }
        return read
    }

    func handshake() throws(TLSError) {
        try client.start()
        try exchange()
    }

    private func deliver(
        from sender: TLSTransport,
        to session: TLSSession,
        on transport: TLSTransport
    ) throws(TLSError) -> [UInt8] {
        let ciphertext = sender.outgoing
        sender.outgoing.removeAll(keepingCapacity: true)
        var plaintext: [UInt8] = []
        var start = 0
        while start < ciphertext.count {
            let end = start + min(cut, ciphertext.count - start)
            let count = try session.receive(ciphertext.span.extracting(start..<end))
            plaintext += transport.plaintext[..<count]
            start = end
        }
        return plaintext
    }
}
