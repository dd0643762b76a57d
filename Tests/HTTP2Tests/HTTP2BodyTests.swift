import HTTP2
import Testing

@Suite struct HTTP2BodyTests {
    @Test(arguments: [5120, 5121]) func `5120 bytes are kept and one more is too large`(count: Int) throws {
        let bytes = [UInt8](repeating: 7, count: count)
        let request = try Peer().requests(Frames.headers(1, Frames.usual) + Frames.data(1, bytes))[0]
        #expect(request.isBodyTooLarge == (count > 5120))
        #expect(request.body.count == 5120 && request.bodyCount == count && request.isComplete)
    }

    @Test func `too large a body is known as soon as it is`() throws {
        let peer = try Peer()
        let part = Frames.data(1, [UInt8](repeating: 7, count: 3000), end: false)
        #expect(try peer.requests(Frames.headers(1, Frames.usual) + part).isEmpty)
        let request = try peer.requests(part)[0]
        #expect(request.isBodyTooLarge && !request.isComplete)
        #expect(try peer.requests(part).isEmpty && request.bodyCount == 9000)
    }

    @Test func `an incomplete request is answered, then reset without blame`() throws {
        let peer = try Peer()
        let request = try peer.requests(Frames.headers(1, Frames.usual) + Self.flood)[0]
        peer.respond(request, 413, body: "{}")
        peer.server.refuseRest(of: request)
        peer.server.release(request)
        let frames = peer.sent().filter { $0.kind != .windowUpdate }
        #expect(frames.map(\.kind) == [.headers, .data, .reset])
        #expect(frames[2].word() == 0 && peer.server.openStreams == 0)
        #expect(try peer.requests(Self.flood + Frames.push(3)).map(\.stream) == [3])
    }

    @Test func `a request that completes before its refusal is sent needs no reset`() throws {
        let peer = try Peer()
        let request = try peer.requests(Frames.headers(1, Frames.usual) + Self.flood)[0]
        peer.respond(request, 413, body: "{}")
        peer.server.refuseRest(of: request)
        try peer.receive(Frames.data(1, []))
        #expect(peer.sent().map(\.kind) == [.headers, .data])
    }

    @Test func `a refusal does not hit the next user of its object`() throws {
        let peer = try Peer()
        let request = try peer.requests(Frames.headers(1, Frames.usual) + Self.flood)[0]
        peer.respond(request, 413)
        peer.server.refuseRest(of: request)
        peer.server.release(request)
        try peer.receive(Frames.reset(1) + Frames.headers(3, Frames.usual))
        #expect(!peer.sent().contains { $0.kind == .reset })
    }

    @Test func `a body that is dropped flows without end and is not kept`() throws {
        let peer = try Peer()
        var window = 65535
        try peer.receive(Frames.headers(1, Frames.usual))
        for _ in 0..<2000 {
            try peer.receive(Self.flood)
            let updates = peer.sent().filter { $0.kind == .windowUpdate && $0.stream == 1 }
            window += updates.reduce(-16384) { $0 + Int($1.word()) }
            try #require(window >= 16384)
        }
        let request = peer.taken()[0]
        #expect(request.bodyCount == 2000 * 16384 && request.body.count == 5120)
    }

    @Test func `kept bodies use up the connection's window until they are released`() throws {
        var limits = HTTP2Limits(announcedStreams: 1000)
        limits.bufferedBodyBytes = 100_000
        let peer = try Peer(limits)
        let body = String(repeating: "b", count: 5000)
        let requests = try peer.requests((0..<20).flatMap { Frames.push(1 + 2 * $0, body: body) })
        #expect(requests.count == 20)
        #expect(!peer.sent().contains { $0.kind == .windowUpdate })
        peer.finish(requests)
        let credit = peer.sent().filter { $0.kind == .windowUpdate && $0.stream == 0 }.map { Int($0.word()) }
        #expect((50_000...100_000).contains(credit.reduce(0, +)))
    }

    @Test func `a peer that ignores the connection's window is sent away`() throws {
        var limits = HTTP2Limits(announcedStreams: 1000)
        limits.bufferedBodyBytes = 100_000
        let peer = try Peer(limits)
        let body = String(repeating: "b", count: 5000)
        _ = try peer.requests((0..<21).flatMap { Frames.push(1 + 2 * $0, body: body) })
        #expect(peer.sent().last.map { $0.kind == .goAway && $0.word(at: 4) == 3 } == true)
        #expect(peer.server.isFinished)
        #expect(throws: HTTP2Error.broken(.flowControl)) { try peer.receive([0]) }
    }

    @Test func `a body that was reset midway gives its window back`() throws {
        var limits = HTTP2Limits(announcedStreams: 1000)
        limits.bufferedBodyBytes = 70_000
        let peer = try Peer(limits)
        for index in 0..<100 {
            let stream = 1 + 2 * Int32(index)
            let body = Frames.data(stream, [UInt8](repeating: 1, count: 5000), end: false)
            try peer.receive(Frames.headers(stream, Frames.usual) + body + Frames.reset(stream))
            #expect(!peer.sent().contains { $0.kind == .goAway })
        }
    }

    private static let flood = Frames.data(1, [UInt8](repeating: 7, count: 16384), end: false)
}
