import Testing

@testable import TLS

@Suite struct DetachedSessionTests {
    let instance: Instance
    static let suites = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]

    init() throws { instance = try Instance.shared.get() }

    @Test(arguments: suites)
    func `a detached session talks on with OpenSSL`(_ suite: String) throws {
        let peers = try DetachedPeers(instance, suite: suite)
        let large = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for message in [[1], large, []] {
            try peers.peers.client.send(message)
            #expect(try peers.serverReads() == message)
            try peers.send(message)
            #expect(try peers.clientReads() == message)
        }
    }

    @Test(arguments: suites)
    func `what OpenSSL did before is continued`(_ suite: String) throws {
        let peers = try DetachedPeers(instance, suite: suite, tickets: .own(2)) { (peers) throws(TLSError) in
            try peers.client.send([1])
            try peers.server.send([2])
            peers.client.updateKeys(asking: true)
            try peers.client.send([3])
            try peers.exchange()
            try peers.server.send([4])
            try peers.exchange()
        }
        try peers.peers.client.send([5])
        #expect(try peers.serverReads() == [5])
        try peers.send([6])
        #expect(try peers.clientReads() == [6])
    }

    @Test(arguments: suites, [false, true])
    func `the client changes its keys, and ours if it asks`(_ suite: String, _ asking: Bool) throws {
        let peers = try DetachedPeers(instance, suite: suite)
        for round in UInt8(0)..<3 {
            peers.peers.client.updateKeys(asking: asking)
            try peers.peers.client.send([round])
            #expect(try peers.serverReads() == [round])
            // Asking for keys costs us nothing until there is something to say.
            #expect(peers.peers.serverTransport.outgoing.isEmpty)
            try peers.send([round, round])
            #expect(try peers.clientReads() == [round, round])
        }
    }

    @Test func `both sides say goodbye`() throws {
        let peers = try DetachedPeers(instance)
        let server = try #require(peers.server)
        server.shutdown()
        #expect(try peers.clientReads() == [])
        #expect(peers.peers.client.isPeerClosed)
        #expect(throws: TLSError.closed) { try peers.send([1]) }
        peers.peers.client.shutdown()
        #expect(try peers.serverReads() == [])
        #expect(server.isPeerClosed)
    }

    @Test func `a record that was changed on its way is refused, and OpenSSL hears why`() throws {
        let peers = try DetachedPeers(instance)
        try peers.peers.client.send([1, 2, 3])
        peers.peers.clientTransport.outgoing[7] ^= 1
        #expect(throws: TLSError.self) { try peers.serverReads() }
        let told = #expect(throws: TLSError.self) { try peers.clientReads() }
        // OpenSSL's versions begin the sentence differently.
        #expect("\(String(describing: told))".contains("alert bad record mac"))
        #expect(throws: TLSError.closed) { try peers.send([1]) }
    }

    @Test(arguments: 1...29)
    func `OpenSSL is not left in the middle of a record`(_ cut: Int) throws {
        var record: [UInt8] = []
        let peers = try DetachedPeers(instance) { (peers) throws(TLSError) in
            try peers.client.send([1, 2, 3, 4, 5, 6, 7])
            record = peers.clientTransport.outgoing
            peers.clientTransport.outgoing = []
            _ = try peers.server.receive(Array(record[..<cut]))
        }
        let isWhole = cut == record.count
        #expect((peers.server != nil) == isWhole)
        guard !isWhole else { return }
        let count = try peers.peers.server.receive(Array(record[cut...]))
        #expect(count == 7)
        #expect(peers.peers.server.detach() != nil)
    }

    @Test func `a client that changes its keys over and over is left to OpenSSL`() throws {
        let peers = try DetachedPeers(instance) { (peers) throws(TLSError) in
            for _ in 0...32 { peers.client.updateKeys(asking: false) }
            try peers.exchange()
        }
        #expect(peers.server == nil)
    }

    @Test func `a TLS 1_2 session stays with OpenSSL`() throws {
        let context = try instance.clientContext()
        try context.limit(to: 0x0303)
        let server = try instance.serverContext(TLSServerOptions(detaches: true))
        let peers = try Peers(instance, server: server, client: context)
        #expect(peers.server.detach() == nil)
        try peers.handshake()
        #expect(peers.server.detach() == nil)
        try peers.client.send([9])
        #expect(try peers.exchange().atServer == [9])
    }

    @Test(arguments: [UInt16(0x0303), 0x0304])
    func `handshakes that overlap are all followed`(_ versionOfOther: UInt16) throws {
        let server = try instance.serverContext(TLSServerOptions(detaches: true))
        let first = try Peers(instance, server: server)
        try first.client.start()
        _ = try first.server.receive(first.clientTransport.outgoing)
        first.clientTransport.outgoing = []
        let client = try instance.clientContext()
        try client.limit(to: versionOfOther)
        let other = try Peers(instance, server: server, client: client)
        try other.handshake()
        try first.exchange()
        #expect(first.server.detach() != nil)
        #expect((other.server.detach() != nil) == (versionOfOther == 0x0304))
    }

    @Test func `a session that moved to another loop is left there`() throws {
        let options = TLSServerOptions(detaches: true)
        let peers = try Peers(instance, server: try instance.serverContext(options))
        try peers.handshake()
        let (transport, home) = (TLSTransport(), try instance.serverContext(options))
        let session = TLSSession(resuming: peers.server.park(), context: home, transport: transport)
        peers.client.updateKeys(asking: false)
        try peers.client.send([1])
        #expect(try session.receive(peers.clientTransport.outgoing) == 1)
        let detached = try #require(session.detach())
        try detached.send([2])
        #expect(try peers.client.receive(transport.outgoing) == 1)
    }

    @Test func `a listener that does not detach keeps its sessions`() throws {
        let peers = try Peers(instance)
        try peers.handshake()
        #expect(peers.server.detach() == nil)
    }
}
