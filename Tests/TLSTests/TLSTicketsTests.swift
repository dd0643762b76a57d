import COpenSSL
import Testing

@testable import TLS

@Suite struct TLSTicketsTests {
    let instance: Instance
    let client: TLSContext
    let keys = TicketKeys(lifeSeconds: 3600)

    init() throws {
        instance = try Instance.shared.get()
        client = try instance.clientContext()
    }

    private func listener(_ tickets: TLSTickets) throws(TLSError) -> TLSContext {
        try instance.serverContext(TLSServerOptions(tickets: tickets, detaches: true))
    }

    private func connect(to server: TLSContext, _ ticket: TLSTicket? = nil) throws(TLSError) -> Peers {
        let peers = try Peers(instance, server: server, client: client)
        if let ticket { try peers.client.offer(ticket) }
        try peers.handshake()
        #expect(peers.client.wasResumed == peers.server.wasResumed)
        return peers
    }

    /// Lets the server go of OpenSSL, and has both ends say something.
    private func detach(_ peers: Peers) throws {
        let detached = try #require(peers.server.detach())
        for text: [UInt8] in [[1], [2, 3], Array(repeating: 4, count: 20_000)] {
            try peers.client.send(text)
            let toServer = peers.clientTransport.outgoing
            peers.clientTransport.outgoing = []
            #expect(try detached.receive(toServer) == text.count)
            try detached.send(text)
            let toClient = peers.serverTransport.outgoing
            peers.serverTransport.outgoing = []
            #expect(try peers.client.receive(toClient) == text.count)
        }
    }

    @Test(arguments: DetachedSessionTests.suites)
    func `a resumed session leaves OpenSSL as any other, again and again`(_ suite: String) throws {
        try attempt(TLSError.library) { SSL_CTX_set_ciphersuites(client.raw, suite) }
        let server = try listener(.shared(keys))
        var ticket: TLSTicket?
        for round in 0..<4 {
            let peers = try connect(to: server, ticket)
            #expect(peers.server.wasResumed == (round > 0))
            try detach(peers)
            ticket = peers.client.ticket
        }
    }

    @Test func `contexts with the same keys open each other's tickets, and no others`() throws {
        let ticket = try #require(try connect(to: listener(.shared(keys))).client.ticket)
        let resumed = try connect(to: listener(.shared(keys)), ticket)
        #expect(resumed.server.wasResumed)
        try detach(resumed)
        for tickets: TLSTickets in [.shared(TicketKeys(lifeSeconds: 3600)), .own(1), .none] {
            let full = try connect(to: listener(tickets), ticket)
            #expect(!full.server.wasResumed)
            try detach(full)
        }
    }

    @Test func `a resumed session exports what no other does`() throws {
        let server = try listener(.shared(keys))
        let first = try connect(to: server)
        let second = try connect(to: server, first.client.ticket)
        let materials = try [first.client, second.client, second.server].map {
            try $0.exporter(label: "EXPORTER-test", context: [], count: 32)
        }
        #expect(materials[1] == materials[2])
        #expect(materials[0] != materials[1])
    }

    @Test func `a ticket has its end, and no early data`() throws {
        let ticket = try #require(try connect(to: listener(.shared(keys))).client.ticket)
        #expect(SSL_SESSION_get_ticket_lifetime_hint(ticket.raw) == 3600)
        #expect(SSL_SESSION_get_max_early_data(ticket.raw) == 0)
    }

    @Test func `TLS 1_2 has no tickets that others can open`() throws {
        try client.limit(to: 0x0303)
        #expect(try connect(to: listener(.shared(keys))).client.ticket?.isSealed != true)
        #expect(try connect(to: listener(.own(1))).client.ticket?.isSealed == true)
    }

    @Test func `a ticket of another version is not taken`() throws {
        let server = try listener(.shared(keys))
        let ticket = try #require(try connect(to: server).client.ticket)
        try client.limit(to: 0x0303)
        #expect(!(try connect(to: server, ticket).server.wasResumed))
    }

    @Test func `a session that broke off leaves its ticket, a failed one does not`() throws {
        let server = try listener(.shared(keys))
        let peers = try connect(to: server)
        #expect(peers.client.ticket != nil)
        try peers.server.send([1])
        peers.serverTransport.outgoing[7] ^= 1
        #expect(throws: TLSError.self) { try peers.exchange() }
        #expect(peers.client.ticket == nil)
    }
}

extension TLSTicket {
    /// Whether the server can forget the session, as the ticket has all of it.
    fileprivate var isSealed: Bool { SSL_SESSION_has_ticket(raw) == 1 }
}
