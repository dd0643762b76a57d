import HTTP2
import Testing

@Suite struct HTTP2EndTests {
    private static let reason = Array(#"{"reason":"Shutdown"}"#.utf8)

    @Test func `a notice carries the reason and lets new streams in`() throws {
        let peer = try Peer()
        peer.server.goAway(lastStream: nil, code: .noError, reason: Self.reason)
        #expect(!peer.server.isFinished)
        let frame = peer.sent()[0]
        #expect(frame.kind == .goAway && frame.word() == 0x7fff_ffff && frame.word(at: 4) == 0)
        #expect(frame.text.hasSuffix(#"{"reason":"Shutdown"}"#))
        #expect(try peer.requests(Frames.push(1)).count == 1)
    }

    @Test func `after the notice the last GOAWAY ends the connection once all is answered`() throws {
        let peer = try Peer()
        peer.server.goAway(lastStream: nil, code: .noError, reason: Self.reason)
        let requests = try peer.requests((0..<3).flatMap { Frames.push(1 + 2 * $0) })
        peer.server.goAway(lastStream: peer.server.lastStream, code: .noError, reason: Self.reason)
        #expect(peer.sent().map(\.kind) == [.goAway, .goAway] && !peer.server.isFinished)
        #expect(try peer.requests(Frames.push(7)).isEmpty)
        peer.finish(requests)
        #expect(peer.sent().map(\.stream) == [1, 3, 5] && peer.server.isFinished)
    }

    @Test func `streams above the last GOAWAY are closed unanswered`() throws {
        let peer = try Peer()
        let requests = try peer.requests(Frames.push(1) + Frames.push(3))
        peer.server.goAway(lastStream: 1, code: .noError, reason: [])
        _ = peer.sent()
        #expect(requests.map(\.isClosed) == [false, true])
        peer.finish(requests)
        #expect(peer.sent().map(\.stream) == [1] && peer.server.isFinished)
    }

    @Test func `a connection can be refused before its first request`() throws {
        let peer = try Peer(greet: false)
        let reason = #"{"reason":"BadCertificateEnvironment"}"#
        peer.server.goAway(lastStream: 0, code: .noError, reason: Array(reason.utf8))
        let frames = peer.sent()
        #expect(frames.first?.kind == .settings && frames.last?.kind == .goAway)
        #expect(frames.last?.word() == 0 && frames.last?.payload.count == 46 && peer.server.isFinished)
    }

    @Test func `a peer that says GOAWAY is served to its end`() throws {
        let peer = try Peer()
        let requests = try peer.requests(Frames.push(1) + Frames.frame(7, 0, 0, Frames.word(0) + Frames.word(0)))
        #expect(!peer.server.isFinished)
        peer.finish(requests)
        #expect(peer.sent().map(\.kind) == [.headers] && peer.server.isFinished)
    }

    @Test func `HTTP 1 gets no answer in HTTP 1`() throws {
        let peer = try Peer(greet: false)
        #expect(throws: HTTP2Error.notHTTP2) { try peer.receive(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)) }
        #expect(peer.sent().last?.kind == .goAway && peer.server.isFinished)
    }

    private static let broken: [(bytes: [UInt8], code: UInt32)] = [
        (Frames.frame(0, 1, 0, [1]), 1),
        (Frames.frame(1, 5, 2, [0x82]), 1),
        (Frames.frame(1, 5, 1, [0xff]), 9),
        // Huffman padding of zeros, a table larger than announced, a size update after a field.
        (Frames.frame(1, 5, 1, [0x40, 0x81, 0x00, 0x00]), 9),
        (Frames.frame(1, 5, 1, [0x3f, 0xe2, 0x1f]), 9),
        (Frames.frame(1, 5, 1, [0x88, 0x20]), 9),
        (Frames.reset(1), 1),
        (Frames.frame(6, 0, 0, [1]), 6),
        ([0, 64, 1, 0, 0, 0, 0, 0, 1], 6),
        (Frames.windowUpdate(0, 0), 1),
        (Frames.windowUpdate(0, 0x7fff_ffff), 3),
    ]

    @Test(arguments: broken)
    func `a broken protocol ends in GOAWAY with its code`(bytes: [UInt8], code: UInt32) throws {
        let peer = try Peer()
        try peer.receive(bytes)
        #expect(peer.sent().last.map { $0.kind == .goAway && $0.word(at: 4) == code } == true)
        #expect(peer.server.isFinished)
        #expect(throws: HTTP2Error.broken(HTTP2Code(rawValue: code))) { try peer.receive([0]) }
    }
}
