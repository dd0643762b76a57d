import COpenSSL

@testable import TLS

/// An OpenSSL client and a server that has let go of OpenSSL, as far as it could.
struct DetachedPeers {
    let peers: Peers
    private(set) var server: DetachedSession?

    /// `suite` has OpenSSL's name; nil is OpenSSL's choice. `before` is done between the handshake and detaching.
    init(
        _ instance: Instance,
        suite: String? = nil,
        tickets: TLSTickets = .none,
        before: (Peers) throws(TLSError) -> Void = { _ in }
    ) throws(TLSError) {
        let client = try instance.clientContext()
        if let suite { try attempt(TLSError.library) { SSL_CTX_set_ciphersuites(client.raw, suite) } }
        let server = try instance.serverContext(TLSServerOptions(tickets: tickets, detaches: true))
        peers = try Peers(instance, server: server, client: client)
        try peers.handshake()
        try before(peers)
        self.server = peers.server.detach()
    }

    func send(_ plaintext: [UInt8]) throws(TLSError) { try server?.send(plaintext) }

    /// What the server reads of all that the client has said.
    func serverReads() throws(TLSError) -> [UInt8] {
        let ciphertext = peers.clientTransport.outgoing
        peers.clientTransport.outgoing = []
        let count = try server?.receive(ciphertext) ?? 0
        return Array(peers.serverTransport.plaintext[..<count])
    }

    /// What the client reads of all that the server has said.
    func clientReads() throws(TLSError) -> [UInt8] {
        let ciphertext = peers.serverTransport.outgoing
        peers.serverTransport.outgoing = []
        let count = try peers.client.receive(ciphertext)
        return Array(peers.clientTransport.plaintext[..<count])
    }
}

extension TLSSession {
    /// Has OpenSSL send a KeyUpdate.
    func updateKeys(asking: Bool) {
        SSL_key_update(raw, asking ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED)
        SSL_do_handshake(raw)
    }
}
