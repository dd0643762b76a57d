import HTTP2
import Testing

@Suite struct HTTP2AnswerTests {
    private static let reason = #"{"reason":"BadDeviceToken"}"#

    @Test func `headers of an answer follow its status`() throws {
        let peer = try Peer()
        let answer = HTTP2Answer()
        answer.reset(status: 200)
        // Braces are longer in HPACK's Huffman code, so they stand as they are.
        answer.add("apns-id", Array("{{{{".utf8).span)
        peer.server.respond(to: try peer.requests(Frames.push(1))[0], answer)
        let payload = peer.sent()[0].payload
        #expect(payload.first == 0x88 && payload.suffix(5) == [4, 123, 123, 123, 123])
        #expect(payload[1] == 0x10, "a unique value is never indexed")
    }

    @Test func `an answer is used again without a trace of the last`() throws {
        let peer = try Peer()
        let answer = HTTP2Answer()
        let requests = try peer.requests(Frames.push(1) + Frames.push(3))
        answer.reset(status: 404)
        answer.add("apns-id", Array("a".utf8).span)
        answer.body = Array(Self.reason.utf8)
        peer.server.respond(to: requests[0], answer)
        answer.reset(status: 200)
        peer.server.respond(to: requests[1], answer)
        let frames = peer.sent()
        #expect(frames.filter { $0.stream == 1 }.last?.text == Self.reason)
        #expect(frames.filter { $0.stream == 3 } == [WireFrame(kind: .headers, flags: 5, stream: 3, payload: [0x88])])
    }

    @Test(arguments: [0, 25]) func `a body waits until the stream's window takes all of it`(window: UInt32) throws {
        let peer = try Peer()
        try peer.receive(Frames.settings([(4, window)]))
        _ = peer.sent()
        peer.respond(try peer.requests(Frames.push(1))[0], 400, body: Self.reason)
        #expect(peer.sent().map(\.kind) == [.headers] && peer.server.blockedAnswers == 1)
        try peer.receive(Frames.windowUpdate(1, 26 - window))
        #expect(peer.sent().isEmpty)
        try peer.receive(Frames.windowUpdate(1, 1))
        let frames = peer.sent()
        #expect(frames.map(\.text) == [Self.reason] && frames[0].ends && peer.server.blockedAnswers == 0)
    }

    @Test func `a body that waits lets others pass`() throws {
        let peer = try Peer()
        try peer.receive(Frames.settings([(4, 5)]))
        for request in try peer.requests(Frames.push(1) + Frames.push(3)) {
            peer.respond(request, 400, body: Self.reason)
        }
        _ = peer.sent()
        try peer.receive(Frames.windowUpdate(3, 100))
        #expect(peer.sent().map(\.stream) == [3] && peer.server.blockedAnswers == 1)
    }

    @Test func `a larger initial window lets a body go`() throws {
        let peer = try Peer()
        try peer.receive(Frames.settings([(4, 5)]))
        peer.respond(try peer.requests(Frames.push(1))[0], 400, body: Self.reason)
        _ = peer.sent()
        try peer.receive(Frames.settings([(4, 65535)]))
        #expect(peer.sent().contains { $0.kind == .data && $0.text == Self.reason })
    }

    @Test func `a peer that gives no credit back still gets its successes`() throws {
        let peer = try Peer()
        var (errors, stream): (Int, Int32) = (0, 1)
        while peer.server.blockedAnswers < 5 {
            for request in try peer.requests(Frames.push(stream)) {
                peer.respond(request, 400, body: Self.reason)
                peer.server.release(request)
            }
            (errors, stream) = (errors + peer.sent().filter { $0.kind == .data }.count, stream + 2)
        }
        #expect(errors == 65535 / 27)
        peer.finish(try peer.requests(Frames.push(stream)))
        #expect(peer.sent().map(\.kind) == [.headers])
        try peer.receive(Frames.windowUpdate(0, 1000))
        #expect(peer.sent().filter { $0.kind == .data && $0.text == Self.reason }.count == 5)
        #expect(peer.server.openStreams == 0)
    }

    @Test func `a waiting body goes with its stream`() throws {
        let peer = try Peer()
        try peer.receive(Frames.settings([(4, 5)]))
        let request = try peer.requests(Frames.push(1))[0]
        peer.respond(request, 400, body: Self.reason)
        peer.server.release(request)
        _ = peer.sent()
        try peer.receive(Frames.reset(1) + Frames.windowUpdate(0, 1000) + Frames.settings([(4, 65535)]))
        #expect(peer.server.blockedAnswers == 0 && peer.server.openStreams == 0)
        peer.respond(try peer.requests(Frames.push(3))[0])
        #expect(!peer.sent().contains { $0.kind == .data })
    }

    @Test func `a request that the peer reset is closed and gets no answer`() throws {
        let peer = try Peer()
        let requests = try peer.requests(Frames.push(1) + Frames.push(3))
        try peer.receive(Frames.reset(1))
        #expect(requests.map(\.isClosed) == [true, false])
        peer.finish(requests)
        #expect(peer.sent().map(\.stream) == [3])
    }

    @Test func `a request that was reset before it was taken is not given out`() throws {
        #expect(try Peer().requests(Frames.push(1) + Frames.reset(1)).isEmpty)
    }

    @Test func `a request outlives its connection`() throws {
        var peer: Peer? = try Peer()
        let request = try #require(try peer?.requests(Frames.push(1)).first)
        peer = nil
        #expect(request.bodyText == "{}")
    }

    @Test func `an answered request is used again, clean`() throws {
        let peer = try Peer()
        let first = try peer.requests(Frames.push(1, [("apns-topic", "a"), ("apns-x", "1"), ("apns-x", "2")]))[0]
        peer.finish([first])
        _ = peer.sent()
        let second = try peer.requests(Frames.push(3, body: "[]"))[0]
        #expect(first === second && second.stream == 3)
        #expect(
            second.range(of: Peer.topic) == nil && second.repeatedFields == 0 && !second.hasRepeatedUnknown
                && second.bodyText == "[]"
        )
        #expect(!second.isClosed && second.isComplete)
    }

    @Test func `a request whose bytes were taken back is answered, and its room is used for the next`() throws {
        let peer = try Peer()
        let body = String(repeating: "x", count: 3000)
        let first = try peer.requests(Frames.push(1, [("apns-topic", "a")], body: body))[0]
        let place = first.bytes.withUnsafeBufferPointer { $0.baseAddress }
        peer.server.reclaimBytes(of: first)
        #expect(first.range(of: Peer.topic) == nil && first.body.isEmpty && first.bodyCount == 3000)
        let second = try peer.requests(Frames.push(3, [("apns-topic", "b")], body: "[]"))[0]
        #expect(second.text(Peer.topic) == "b" && second.bodyText == "[]" && second !== first)
        #expect(second.bytes.withUnsafeBufferPointer { $0.baseAddress } == place)
        peer.finish([first, second])
        #expect(peer.sent().map(\.stream) == [1, 3])
        let third = try peer.requests(Frames.push(5, [("apns-topic", "c")], body: "{}"))[0]
        #expect(third.text(Peer.topic) == "c" && third.bodyText == "{}")
    }

    @Test func `an answer's header may be empty, and there is room for seven`() throws {
        let peer = try Peer()
        let request = try peer.requests(Frames.push(1))[0]
        let answer = HTTP2Answer()
        answer.reset(status: 200)
        answer.add("apns-id", [UInt8]().span)
        for _ in 0..<6 { answer.add("x-test", [UInt8](repeating: 97, count: 150).span) }
        peer.server.respond(to: request, answer)
        let block = try #require(peer.sent().first?.payload)
        #expect(block.count { $0 == 0 } >= 1 && block.count > 500)
    }

    @Test func `only the first answer counts`() throws {
        let peer = try Peer()
        let request = try peer.requests(Frames.push(1))[0]
        peer.respond(request)
        peer.respond(request, 500, body: Self.reason)
        #expect(peer.sent().map(\.kind) == [.headers])
    }

    @Test(arguments: [0, 1, 100, 4095, 4096, 4097]) func `any table size of the peer works`(size: UInt32) throws {
        let peer = try Peer()
        try peer.receive(Frames.settings([(1, size)]))
        _ = peer.sent()
        for index in 0..<100 {
            peer.respond(try peer.requests(Frames.push(1 + 2 * Int32(index)))[0], 403)
            let block = try #require(peer.sent().first?.payload)
            if index == 0, size < 4096 { #expect(block[0] >> 5 == 1, "a size update comes first") }
        }
    }
}
