import Testing

@testable import TLS

@Suite struct TLSSessionTests {
    let instance: Instance

    init() throws { instance = try Instance.shared.get() }

    @Test(arguments: [1, 7, .max])
    func `a handshake and data pass however the stream is cut`(_ cut: Int) throws {
        var peers = try Peers(instance)
        peers.cut = cut
        try peers.handshake()
        #expect(peers.client.isEstablished && peers.server.isEstablished)

        try peers.client.send([1, 2, 3])
        try peers.server.send([4, 5])
        let read = try peers.exchange()
        #expect(read.atServer == [1, 2, 3])
        #expect(read.atClient == [4, 5])
    }

    @Test func `a session says what was settled`() throws {
        let peers = try Peers(instance)
        try peers.handshake()
        #expect(peers.server.version == "TLSv1.3")
        #expect(peers.server.negotiatedHost == "push.example.com")
        #expect(peers.server.alpn == nil)
        #expect(peers.server.peerCertificateDER == nil)
        #expect(peers.client.peerCertificateDER == (try Certificate(pem: instance.serverPEM).der))
    }

    @Test func `a TLS 1_2 client is served`() throws {
        let context = try instance.clientContext()
        try context.limit(to: 0x0303)
        let peers = try Peers(instance, client: context)
        try peers.handshake()
        try peers.client.send([9])
        #expect(try peers.exchange().atServer == [9])
        #expect(peers.server.version == "TLSv1.2")
        let material = try peers.server.exporter(label: "EXPORTER-test", context: [1], count: 20)
        #expect(material == (try peers.client.exporter(label: "EXPORTER-test", context: [1], count: 20)))
    }

    @Test func `a TLS 1_0 client is refused`() throws {
        let peers = try Peers(instance)
        let random = [UInt8](repeating: 7, count: 32)
        // One cipher suite (TLS_RSA_WITH_AES_128_CBC_SHA), no compression, no extensions.
        let hello: [UInt8] = [1, 0, 0, 41, 3, 1] + random + [0, 0, 2, 0, 0x2f, 1, 0]
        let record: [UInt8] = [22, 3, 1, 0, UInt8(hello.count)] + hello
        #expect(throws: TLSError.protocolError("unsupported protocol")) { try peers.server.receive(record) }
        // protocol_version, fatal
        #expect(peers.serverTransport.outgoing.suffix(2) == [2, 70])
    }

    @Test func `a megabyte passes each way in full records`() throws {
        let peers = try Peers(instance)
        try peers.handshake()
        let data = (0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try peers.client.send(data)
        // 64 records, each with a header of 5, one byte of type and a tag of 16.
        #expect(peers.clientTransport.outgoing.count == data.count + 64 * 22)
        try peers.server.send(data)
        let read = try peers.exchange()
        #expect(read.atServer == data)
        #expect(read.atClient == data)
        #expect(peers.serverTransport.plaintext.count > TLSTransport.plaintextCapacity)
    }

    @Test func `an empty send says nothing`() throws {
        let peers = try Peers(instance)
        try peers.handshake()
        try peers.server.send([])
        #expect(peers.serverTransport.outgoing.isEmpty)
    }

    @Test func `nothing is sent before the handshake is done`() throws {
        let peers = try Peers(instance)
        #expect(throws: TLSError.notEstablished) { try peers.server.send([1]) }
        #expect(throws: TLSError.notEstablished) {
            try peers.server.exporter(label: "EXPORTER-test", context: [], count: 32)
        }
    }

    @Test func `garbage is answered with an alert and an error`() throws {
        let peers = try Peers(instance)
        let garbage = Array("GET / HTTP/1.1\r\nHost: push.example.com\r\n\r\n".utf8)
        #expect(throws: TLSError.protocolError("http request")) { try peers.server.receive(garbage) }
        #expect(throws: TLSError.closed) { try peers.server.receive(garbage) }
        #expect(throws: TLSError.closed) { try peers.server.send([1]) }

        let other = try Peers(instance)
        #expect(throws: TLSError.self) { try other.server.receive([22, 3, 1, 0, 4, 9, 9, 9, 9]) }
        // An alert record, level fatal.
        #expect(other.serverTransport.outgoing.first == 21)
        #expect(other.serverTransport.outgoing.dropFirst(5).first == 2)
    }

    @Test func `a record that was tampered with ends the session`() throws {
        let peers = try Peers(instance)
        try peers.handshake()
        try peers.client.send([1, 2, 3])
        peers.clientTransport.outgoing[7] ^= 1
        #expect(throws: TLSError.self) { try peers.exchange() }
        #expect(!peers.serverTransport.outgoing.isEmpty)
        peers.server.shutdown()
    }

    @Test(arguments: [false, true])
    func `a few new keys at once are followed, and a flood of them ends the session`(asking: Bool) throws {
        let peers = try Peers(instance)
        try peers.handshake()
        for _ in 1...2 {
            for _ in 1...TLSSession.messagesPerTurn / 2 { peers.client.updateKeys(asking: asking) }
            try peers.client.send([7])
            #expect(try peers.exchange().atServer == [7])
        }
        for _ in 1...TLSSession.messagesPerTurn * 2 { peers.client.updateKeys(asking: asking) }
        #expect(throws: TLSError.self) { try peers.exchange() }
    }

    @Test func `one side may close and still read`() throws {
        let peers = try Peers(instance)
        try peers.handshake()
        try peers.client.send([1])
        peers.client.shutdown()
        #expect(try peers.exchange().atServer == [1])
        #expect(peers.server.isPeerClosed && !peers.client.isPeerClosed)
        #expect(throws: TLSError.closed) { try peers.client.send([2]) }

        try peers.server.send([3])
        #expect(try peers.exchange().atClient == [3])
        peers.server.shutdown()
        try peers.exchange()
        #expect(peers.client.isPeerClosed)
    }

    @Test func `bytes after the peer's close are ignored`() throws {
        let peers = try Peers(instance)
        try peers.handshake()
        peers.client.shutdown()
        peers.clientTransport.outgoing += [1, 2, 3]
        #expect(try peers.exchange().atServer == [])
        #expect(try peers.server.receive([4, 5]) == 0)
    }

    @Test func `closing before the handshake's end says nothing`() throws {
        let peers = try Peers(instance)
        peers.server.shutdown()
        #expect(peers.serverTransport.outgoing.isEmpty)
    }

    @Test func `both sides export the same, and another session something else`() throws {
        let (peers, others) = (try Peers(instance), try Peers(instance))
        try peers.handshake()
        try others.handshake()
        let material = try peers.server.exporter(label: "EXPORTER-carillon-connect", context: [], count: 32)
        #expect(material.count == 32)
        #expect(material == (try peers.client.exporter(label: "EXPORTER-carillon-connect", context: [], count: 32)))
        #expect(material != (try others.client.exporter(label: "EXPORTER-carillon-connect", context: [], count: 32)))
        #expect(material != (try peers.client.exporter(label: "EXPORTER-carillon-connect", context: [1], count: 32)))
    }

    @Test func `a loop's sessions share its transport`() throws {
        let context = try instance.serverContext()
        let (first, second) = (try Peers(instance, server: context), try Peers(instance, server: context))
        let transport = TLSTransport()
        first.server.move(to: transport)
        second.server.move(to: transport)
        for var peers in [first, second] {
            peers.serverTransport = transport
            try peers.handshake()
        }
        for (index, var peers) in [first, second].enumerated() {
            peers.serverTransport = transport
            try peers.client.send([UInt8(index)])
            #expect(try peers.exchange().atServer == [UInt8(index)])
        }
    }

    @Test func `a session goes on after it moved to another transport`() throws {
        var peers = try Peers(instance)
        try peers.handshake()
        peers.server.move(to: peers.serverTransport)
        peers.serverTransport = TLSTransport()
        peers.server.move(to: peers.serverTransport)
        try peers.client.send([1])
        try peers.server.send([2])
        let read = try peers.exchange()
        #expect(read.atServer == [1])
        #expect(read.atClient == [2])
    }

    @Test(arguments: [UInt16(0x0303), 0x0304])
    func `a session that forgets its handshake goes on`(_ version: UInt16) throws {
        let context = try instance.clientContext()
        try context.limit(to: version)
        let peers = try Peers(instance, client: context)
        // In the middle of a handshake nothing is forgotten.
        peers.server.forgetHandshake()
        try peers.handshake()
        for round in UInt8(0)..<2 {
            peers.server.forgetHandshake()
            if version == 0x0304 { peers.client.updateKeys(asking: true) }
            try peers.client.send([round])
            try peers.server.send([round])
            let read = try peers.exchange()
            #expect(read.atServer == [round] && read.atClient == [round])
        }
        let exported = try peers.server.exporter(label: "EXPORTER-test", context: [], count: 32)
        #expect(try peers.client.exporter(label: "EXPORTER-test", context: [], count: 32) == exported)
    }

    @Test func `a parked session is resumed in another task`() async throws {
        var peers = try Peers(instance)
        try peers.handshake()
        try peers.client.send([1, 2])
        let ciphertext = peers.clientTransport.outgoing
        let parked = peers.server.park()
        let context = try instance.serverContext()
        let read = try await Task.detached {
            let transport = TLSTransport()
            let session = TLSSession(resuming: parked, context: context, transport: transport)
            return Array(transport.plaintext[..<(try session.receive(ciphertext))])
        }.value
        #expect(read == [1, 2])
        let other = try Peers(instance).server.park()
        peers.server = TLSSession(resuming: other, context: context, transport: TLSTransport())
        #expect(!peers.server.isEstablished)
    }
}
