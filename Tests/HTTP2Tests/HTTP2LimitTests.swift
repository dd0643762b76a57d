import HTTP2
import Testing

@Suite struct HTTP2LimitTests {
    @Test func `the stream limit rises to 1000 once`() throws {
        let peer = try Peer(HTTP2Limits())
        peer.server.raiseStreamLimit()
        peer.server.raiseStreamLimit()
        #expect(peer.sent().map(\.settings) == [[3: 1000]])
    }

    @Test func `the first SETTINGS say 1 even if the limit rose before they were sent`() throws {
        let peer = try Peer(HTTP2Limits(), greet: false)
        peer.server.raiseStreamLimit()
        #expect(peer.sent().compactMap { $0.settings[3] } == [1, 1000])
    }

    @Test func `a limit that is full from the start is not announced again`() throws {
        let peer = try Peer(HTTP2Limits(announcedStreams: 1000))
        peer.server.raiseStreamLimit()
        #expect(peer.sent().isEmpty)
    }

    @Test func `streams above the announced limit are served in order`() throws {
        let peer = try Peer(HTTP2Limits())
        let requests = try peer.requests((0..<300).flatMap { Frames.push(1 + 2 * $0) })
        #expect(requests.map(\.stream) == (0..<300).map { 1 + 2 * $0 })
    }

    @Test func `a stream above 1000 is refused and the others live`() throws {
        let peer = try Peer()
        let requests = try peer.requests((0..<1001).flatMap { Frames.push(1 + 2 * $0) })
        #expect(requests.count == 1000)
        #expect(peer.sent() == [WireFrame(kind: .reset, flags: 0, stream: 2001, payload: Frames.word(7))])
        peer.finish(requests)
        #expect(peer.sent().count == 1000)
        #expect(try peer.requests(Frames.push(2003)).count == 1)
    }

    @Test func `a peer that opens ever more streams above 1000 is sent away`() throws {
        var limits = HTTP2Limits()
        limits.refusedStreams = 50
        let peer = try Peer(limits)
        #expect(throws: HTTP2Error.tooManyRefusedStreams) {
            try peer.receive((0..<1051).flatMap { Frames.push(1 + 2 * $0) })
        }
        #expect(peer.sent().last.map { $0.kind == .goAway && $0.word(at: 4) == 11 } == true)
        #expect(peer.server.isFinished)
    }

    @Test func `header lists over 8000 bytes cost their stream only`() throws {
        let peer = try Peer()
        let large = Frames.headers(1, Frames.usual + [("x", String(repeating: "v", count: 7900))])
        let requests = try peer.requests(large + Frames.data(1, [1]) + Frames.push(3))
        #expect(requests.map(\.stream) == [3])
        #expect(peer.sent() == [WireFrame(kind: .reset, flags: 0, stream: 1, payload: Frames.word(11))])
    }

    @Test(arguments: [1, 2, 5]) func `7500 bytes of headers pass in CONTINUATION frames`(pieces: Int) throws {
        let fields = Frames.usual + [("apns-topic", String(repeating: "t", count: 7000))]
        let bytes = Frames.continued(1, fields, pieces: pieces) + Frames.data(1, [])
        let request = try #require(try Peer().requests(bytes).first)
        #expect(request.text(Peer.topic)?.count == 7000)
    }

    @Test func `a CONTINUATION frame that arrives byte by byte counts once`() throws {
        let peer = try Peer()
        for byte in Frames.continued(1, Frames.usual, pieces: 5) + Frames.data(1, []) { try peer.receive([byte]) }
        #expect(peer.taken().count == 1)
    }

    @Test func `a header list of 20 KB in several frames costs its stream only`() throws {
        let peer = try Peer()
        let fields = Frames.usual + [("x", String(repeating: "v", count: 20_000))]
        let requests = try peer.requests(Frames.continued(1, fields, pieces: 4) + Frames.push(3))
        #expect(requests.map(\.stream) == [3])
        #expect(peer.server.openStreams == 2)
        #expect(peer.sent().map(\.kind) == [.reset])
        #expect(peer.server.openStreams == 1)
    }

    @Test func `six CONTINUATION frames are too many`() throws {
        let peer = try Peer()
        #expect(throws: HTTP2Error.tooManyContinuations) {
            try peer.receive(Frames.continued(1, Frames.usual, pieces: 6))
        }
        #expect(peer.sent().last?.word(at: 4) == 11)
        #expect(throws: HTTP2Error.tooManyContinuations) { try peer.receive([0]) }
    }

    @Test func `10000 oversized header lists leave a connection that works`() throws {
        let peer = try Peer()
        let fields = Frames.usual + [("x", String(repeating: "v", count: 9000))]
        for index in 0..<10_000 {
            try peer.receive(Frames.headers(1 + 2 * Int32(index), fields, end: true))
            _ = peer.sent()
        }
        #expect(peer.server.openStreams == 0)
        #expect(try peer.requests(Frames.push(20_001)).count == 1)
    }

    @Test(arguments: [true, false]) func `rapid resets end the connection`(complete: Bool) throws {
        let peer = try Peer()
        #expect(throws: HTTP2Error.tooManyAbandonedStreams) {
            for index in 0..<10_000 {
                let stream = 1 + 2 * Int32(index)
                try peer.receive(Frames.headers(stream, Frames.usual, end: complete) + Frames.reset(stream))
                for request in peer.taken() { peer.server.release(request) }
                _ = peer.sent()
            }
        }
        #expect(peer.server.lastStream < 1100)
        #expect(peer.sent().last?.word(at: 4) == 11)
    }

    @Test func `requests that are given up after a second do not count`() throws {
        let peer = try Peer()
        for round in 0..<20 as Range<Int32> {
            let streams = (0..<900 as Range<Int32>).map { 1 + 2 * (900 * round + $0) }
            let requests = try peer.requests(streams.flatMap { Frames.push($0) })
            peer.server.time += 1_000_000_000
            try peer.receive(streams.flatMap { Frames.reset($0) })
            for request in requests { peer.server.release(request) }
            _ = peer.sent()
        }
        #expect(peer.server.openStreams == 0)
        #expect(throws: HTTP2Error.tooManyAbandonedStreams) {
            let streams = (0..<501 as Range<Int32>).map { 40_001 + 2 * $0 }
            try peer.receive(streams.flatMap { Frames.push($0) })
            peer.server.time += 999_999_999
            try peer.receive(streams.flatMap { Frames.reset($0) })
        }
    }

    @Test(arguments: [true, false]) func `a header block is open until its end has come`(isNew: Bool) throws {
        let peer = try Peer()
        peer.server.time = 7
        let head = Frames.continued(1, Frames.usual, pieces: 3)
        if !isNew { try peer.receive(Frames.headers(1, Frames.usual) + Frames.reset(1)) }
        #expect(peer.server.openBlockBegan == nil)
        for (index, byte) in head.enumerated() {
            try peer.receive([byte])
            peer.server.time += 1
            if index == 20 { #expect(peer.server.openBlockBegan == 15) }
        }
        #expect(peer.server.openBlockBegan == nil)
    }

    @Test func `resets among answered requests are forgiven`() throws {
        let peer = try Peer()
        for index in 0..<2000 {
            let stream = 1 + 4 * Int32(index)
            try peer.receive(Frames.headers(stream, Frames.usual) + Frames.reset(stream))
            peer.finish(try peer.requests(Frames.push(stream + 2)))
            _ = peer.sent()
        }
        #expect(peer.server.openStreams == 0)
    }

    @Test func `a flood of PING without reading is stopped`() throws {
        let peer = try Peer()
        let ping = Frames.frame(6, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(throws: HTTP2Error.flooded) { for _ in 0..<2000 { try peer.receive(ping) } }
        #expect(peer.sent().last.map { $0.kind == .goAway && $0.word(at: 4) == 11 } == true)
    }

    @Test func `a PING is acknowledged with its bytes however often it comes`() throws {
        let peer = try Peer()
        for _ in 0..<3000 {
            try peer.receive(Frames.frame(6, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8]))
            #expect(peer.sent() == [WireFrame(kind: .ping, flags: 1, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8])])
        }
    }
}
