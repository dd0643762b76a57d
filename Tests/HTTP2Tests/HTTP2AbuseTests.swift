import HTTP2
import Testing

@Suite struct HTTP2AbuseTests {
    private static let ping = Frames.frame(6, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])

    /// Frames that bring nothing, and how many of them a peer may send at once.
    struct Flood: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let frame: [UInt8]
        var allowed = 19_900
    }

    @Test(arguments: [
        Flood(testDescription: "PING", frame: ping),
        Flood(testDescription: "PING that acknowledges", frame: Frames.frame(6, 1, 0, [0, 0, 0, 0, 0, 0, 0, 0])),
        Flood(testDescription: "SETTINGS", frame: Frames.settings([]), allowed: 199),
        Flood(testDescription: "PRIORITY", frame: Frames.frame(2, 0, 3, [0, 0, 0, 0, 9])),
        Flood(testDescription: "WINDOW_UPDATE", frame: Frames.windowUpdate(0, 1)),
        Flood(testDescription: "empty DATA", frame: Frames.data(1, [], end: false)),
        Flood(testDescription: "padding", frame: Frames.frame(0, 8, 1, [2, 0, 0])),
        Flood(testDescription: "unknown", frame: Frames.frame(0xfa, 0, 0, [])),
        Flood(testDescription: "GOAWAY", frame: Frames.frame(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0])),
    ])
    func `a flood is read up to a bound, then the connection ends`(_ flood: Flood) throws {
        let peer = try Peer()
        try peer.receive(Frames.headers(1, Frames.usual))
        for _ in 0..<(flood.allowed - 110) {
            try peer.receive(flood.frame)
            _ = peer.sent()
        }
        #expect(throws: HTTP2Error.tooManyFrames) {
            for _ in 0..<400 {
                try peer.receive(flood.frame)
                _ = peer.sent()
            }
        }
        #expect(peer.sent().last.map { $0.kind == .goAway && $0.word(at: 4) == 11 } == true)
        #expect(peer.abuse == [.frameFlood: 1])
    }

    @Test func `headers on a closed stream are dropped up to a bound`() throws {
        let peer = try Peer()
        try peer.receive(Frames.headers(1, Frames.usual) + Frames.reset(1))
        #expect(throws: HTTP2Error.tooManyFrames) {
            for _ in 0..<20_100 { try peer.receive(Frames.headers(1, Frames.usual, end: true)) }
        }
        #expect(peer.server.openStreams == 0)
    }

    @Test func `what time gives back may be spent again`() throws {
        let peer = try Peer()
        for second in 1..<500 {
            for _ in 0..<100 { try peer.server.receive(Self.ping.span, at: second) }
            _ = peer.sent()
        }
    }

    @Test func `a client with small frames of its own about each request is never cut off`() throws {
        let peer = try Peer()
        for index in 0..<10_000 {
            let stream = 1 + 2 * Int32(index)
            try peer.receive(Self.ping + Frames.windowUpdate(0, 1) + Frames.push(stream))
            peer.finish(peer.taken())
            _ = peer.sent()
        }
        #expect(peer.abuse.isEmpty)
    }

    @Test func `ever more malformed requests end the connection`() throws {
        let peer = try Peer()
        #expect(throws: HTTP2Error.tooManyFrames) {
            for index in 0..<21_000 {
                try peer.receive(Frames.headers(1 + 2 * Int32(index), [(":method", "POST")], end: true))
                _ = peer.sent()
            }
        }
        #expect(peer.sent().last?.word(at: 4) == 11)
        #expect(peer.abuse[.frameFlood] == 1)
    }

    @Test func `a peer that makes us reset its pushes is told why it must go`() throws {
        let peer = try Peer()
        for index in 0..<501 {
            let stream = 1 + 2 * Int32(index)
            for request in try peer.requests(Frames.push(stream)) { peer.server.release(request) }
            try peer.receive(Frames.windowUpdate(stream, 0x7fff_ffff))
            if index < 500 { #expect(peer.sent().map(\.kind) == [.reset]) }
        }
        #expect(peer.sent().map(\.kind) == [.reset, .goAway])
        #expect(peer.server.isFinished)
        #expect(peer.abuse == [.rapidReset: 1])
    }

    @Test func `a header bomb ends the connection, and a large header list its stream`() throws {
        let peer = try Peer()
        let value = [UInt8](repeating: UInt8(ascii: "v"), count: 100)
        let entry: [UInt8] = [0x40, 1, UInt8(ascii: "x"), 100] + value
        let lists = [(count: 1000, stream: Int32(1)), (2100, 3)].map { count, stream in
            Frames.frame(1, 5, stream, Frames.block(Frames.usual) + entry + [UInt8](repeating: 0xbe, count: count))
        }
        try peer.receive(lists[0])
        #expect(peer.sent() == [WireFrame(kind: .reset, flags: 0, stream: 1, payload: Frames.word(11))])
        #expect(throws: HTTP2Error.headerBomb) { try peer.receive(lists[1]) }
        #expect(peer.sent().last?.word(at: 4) == 11)
        #expect(peer.abuse == [.headerList: 2, .headerBomb: 1])
    }

    @Test func `each stream that was reset is counted by its kind`() throws {
        var limits = HTTP2Limits(announcedStreams: 1000)
        limits.enforcedStreams = 1
        let peer = try Peer(limits)
        let large = Frames.usual + [("x", String(repeating: "v", count: 9000))]
        try peer.receive(Frames.headers(1, large) + Frames.headers(3, Frames.usual))
        _ = peer.sent()
        try peer.receive(Frames.headers(5, Frames.usual + [("connection", "close")]))
        _ = peer.sent()
        #expect(peer.abuse == [.headerList: 1, .refusedStream: 1, .malformedRequest: 1])
        #expect(peer.abuse.isEmpty)
    }

    @Test func `a protocol error that nghttp2 found is counted once its GOAWAY is out`() throws {
        let peer = try Peer()
        try peer.receive(Frames.data(0, [1]))
        #expect(peer.sent().map(\.kind) == [.goAway])
        #expect(peer.abuse == [.protocolError: 1])
    }

    @Test func `another protocol is counted as that`() throws {
        let peer = try Peer(greet: false)
        #expect(throws: HTTP2Error.notHTTP2) { try peer.receive(Array("GET / HTTP/1.1\r\n\r\n......".utf8)) }
        #expect(peer.abuse == [.notHTTP2: 1])
    }
}

extension Peer {
    /// What was counted since the last look.
    fileprivate var abuse: [HTTP2Abuse: Int] {
        var counts: [HTTP2Abuse: Int] = [:]
        server.takeAbuse { counts[$0] = $1 }
        return counts
    }
}
