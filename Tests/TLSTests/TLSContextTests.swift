import Testing

@testable import TLS

@Suite struct TLSContextTests {
    let instance: Instance

    init() throws { instance = try Instance.shared.get() }

    @Test(arguments: [
        (["carillon-push/1", "apns-security-v3"], "carillon-push/1"),
        (["apns-security-v3", "carillon-push/1"], "carillon-push/1"),
        (["apns-pack-v1", "apns-security-v3"], "apns-security-v3"),
        (["h2", "carillon-push/10", "arillon-push/1"], nil),
        ([], nil),
    ])
    func `the server chooses by its own order, or nothing`(_ offered: [String], _ chosen: String?) throws {
        let options = TLSServerOptions(alpn: ["carillon-push/1", "apns-security-v3"])
        let client = try instance.clientContext(alpn: offered)
        let peers = try Peers(instance, server: try instance.serverContext(options), client: client)
        try peers.handshake()
        #expect(peers.server.alpn == chosen)
        #expect(peers.client.alpn == chosen)
    }

    @Test func `a server without a list chooses nothing`() throws {
        let peers = try Peers(instance, client: try instance.clientContext(alpn: ["h2"]))
        try peers.handshake()
        #expect(peers.server.isEstablished && peers.server.alpn == nil)
    }

    @Test(arguments: ["", String(repeating: "x", count: 256)])
    func `a name that ALPN cannot carry is refused`(_ name: String) {
        #expect(throws: TLSError.self) { try instance.serverContext(TLSServerOptions(alpn: [name])) }
        #expect(throws: TLSError.self) { try instance.clientContext(alpn: [name]) }
    }

    @Test(arguments: ["push.example.com", "127.0.0.1", "::1"])
    func `a client takes each host the certificate is for`(_ host: String) throws {
        let peers = try Peers(instance, host: host)
        try peers.handshake()
        #expect(peers.client.isEstablished)
        #expect(peers.server.negotiatedHost == (host == "push.example.com" ? host : nil))
    }

    @Test(arguments: ["other.example.com", "127.0.0.2", "example.com"])
    func `a client refuses another host, with an alert`(_ host: String) throws {
        let peers = try Peers(instance, host: host)
        let error = #expect(throws: TLSError.self) { try peers.handshake() }
        #expect(error?.description.contains("mismatch") == true)
        #expect(!peers.clientTransport.outgoing.isEmpty)
    }

    @Test(arguments: ["", "push.example.com\0.evil.example"])
    func `what is not a host is refused at once`(_ host: String) {
        #expect(throws: TLSError.self) { try Peers(instance, host: host) }
    }

    @Test func `a client refuses another authority's server`() throws {
        let foreign = try Instance()
        let peers = try Peers(instance, client: try foreign.clientContext())
        let error = #expect(throws: TLSError.self) { try peers.handshake() }
        #expect(error?.description.contains("certificate verify failed") == true)
    }

    @Test func `a client without an authority takes any server and any name`() throws {
        let client = try TLSContext.client(caPEM: nil, alpn: [])
        let peers = try Peers(instance, client: client, host: "courier.push.apple.com")
        try peers.handshake()
        #expect(peers.server.negotiatedHost == "courier.push.apple.com")
    }

    @Test func `a server that asks for a certificate goes on without one`() throws {
        let options = TLSServerOptions(asksForClientCertificate: true, clientCAPEM: instance.caPEM)
        let peers = try Peers(instance, server: try instance.serverContext(options))
        try peers.handshake()
        #expect(peers.server.isEstablished && peers.server.peerCertificateDER == nil)
    }

    @Test(arguments: [true, false])
    func `a presented certificate is shown, whoever signed it`(_ ours: Bool) throws {
        let signer = ours ? instance : try Instance()
        let client = try TLSContext.client(
            caPEM: instance.caPEM,
            alpn: [],
            certificateChainPEM: signer.serverPEM + signer.caPEM,
            keyPEM: signer.serverKeyPEM
        )
        let options = TLSServerOptions(asksForClientCertificate: true, clientCAPEM: instance.caPEM)
        let peers = try Peers(instance, server: try instance.serverContext(options), client: client)
        try peers.handshake()
        #expect(peers.server.peerCertificateDER == (try Certificate(pem: signer.serverPEM).der))
    }

    @Test func `tickets are sent only when wanted`() throws {
        for count in [0, 2] {
            let server = try instance.serverContext(TLSServerOptions(tickets: count == 0 ? .none : .own(count)))
            let peers = try Peers(instance, server: server)
            try peers.client.start()
            // Up to the client's last flight; what the server says after it can only be tickets.
            for (sender, session) in [(peers.clientTransport, peers.server), (peers.serverTransport, peers.client)] {
                let ciphertext = sender.outgoing
                sender.outgoing = []
                _ = try session.receive(ciphertext)
            }
            _ = try peers.server.receive(peers.clientTransport.outgoing)
            #expect(peers.server.isEstablished)
            #expect(peers.serverTransport.outgoing.isEmpty == (count == 0))
        }
    }

    @Test func `credentials that do not fit are refused`() throws {
        let other = try PrivateKey.p256()
        #expect(throws: TLSError.self) { try server(instance.serverPEM, key: other.pem) }
        #expect(throws: TLSError.self) { try server(instance.serverKeyPEM, key: instance.serverKeyPEM) }
        #expect(throws: TLSError.self) { try server(instance.serverPEM, key: instance.serverPEM) }
        #expect(throws: TLSError.self) { try server([], key: []) }
        let broken = instance.serverPEM + Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
        #expect(throws: TLSError.self) { try server(broken, key: instance.serverKeyPEM) }
    }

    private func server(_ chain: [UInt8], key: [UInt8]) throws(TLSError) -> TLSContext {
        try TLSContext.server(certificateChainPEM: chain, keyPEM: key, options: TLSServerOptions())
    }
}
