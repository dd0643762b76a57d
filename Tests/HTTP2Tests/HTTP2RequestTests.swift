import HTTP2
import Testing

@Suite struct HTTP2RequestTests {
    @Test func `a request fed byte by byte is the one fed whole`() throws {
        let bytes = (0..<3).flatMap { Frames.push(1 + 2 * $0, [("apns-topic", "t\($0)")], body: "{\($0)}") }
        let peer = try Peer(greet: false)
        for byte in Frames.hello + bytes { try peer.receive([byte]) }
        let dripped = peer.taken()
        let whole = try Peer().requests(bytes)
        #expect(dripped.map(\.bytes) == whole.map(\.bytes))
        #expect(dripped.map(\.bodyText) == ["{0}", "{1}", "{2}"])
    }

    @Test func `a field that comes twice is noticed and its first value kept`() throws {
        let request = try Peer().requests(Frames.push(1, [("apns-topic", "a"), ("apns-topic", "b")]))[0]
        #expect(request.repeatedFields == 1 << UInt64(Peer.topic))
        #expect(request.text(Peer.topic) == "a")
        #expect(!request.hasRepeatedUnknown)
    }

    @Test func `an empty value is not a missing field`() throws {
        let request = try Peer().requests(Frames.push(1, [("apns-topic", "")]))[0]
        #expect(request.text(Peer.topic) == "")
        #expect(request.range(of: 3) == nil)
    }

    @Test func `a repeated unknown header is noticed if it is one of APNs`() throws {
        let pairs = [("apns-foo", "1"), ("apns-bar", "2"), ("x-foo", "1"), ("x-foo", "2")]
        let peer = try Peer()
        let requests = try peer.requests(Frames.push(1, pairs) + Frames.push(3, pairs + [("apns-foo", "3")]))
        #expect(requests.map(\.hasRepeatedUnknown) == [false, true])
    }

    @Test func `white space around a value is the owner's matter`() throws {
        let request = try Peer().requests(Frames.push(1, [("apns-topic", " a\t")]))[0]
        #expect(request.text(Peer.topic) == " a\t")
    }

    @Test(arguments: [
        ("Apns-Topic", "a"), ("apns-topic", "a\u{1}"), ("apns topic", "a"), ("connection", "keep-alive"),
        ("transfer-encoding", "chunked"), (":path", "/again"), (":unknown", "a"), ("te", "gzip"), ("", "a"),
    ])
    func `an invalid header costs its stream only`(name: String, value: String) throws {
        let peer = try Peer()
        let requests = try peer.requests(Frames.push(1, [(name, value)]) + Frames.push(3))
        #expect(requests.map(\.stream) == [3])
        #expect(peer.sent() == [WireFrame(kind: .reset, flags: 0, stream: 1, payload: Frames.word(1))])
    }

    @Test func `host without authority is good`() throws {
        let fields = Frames.usual.dropLast() + [("host", "a")]
        #expect(try Peer().requests(Frames.headers(1, Array(fields), end: true)).count == 1)
    }

    @Test func `a body in several frames with an empty last one is whole`() throws {
        let frames = Frames.headers(1, Frames.usual) + Frames.data(1, [123], end: false)
        let request = try Peer().requests(frames + Frames.data(1, [125], end: false) + Frames.data(1, []))[0]
        #expect(request.bodyText == "{}" && request.isComplete)
    }

    @Test func `a request is not ready before its end`() throws {
        let peer = try Peer()
        #expect(try peer.requests(Frames.headers(1, Frames.usual) + Frames.data(1, [123], end: false)).isEmpty)
        #expect(try peer.requests(Frames.data(1, [125])).count == 1)
    }

    @Test func `trailers end a request and are not its fields`() throws {
        let frames = Frames.headers(1, Frames.usual) + Frames.data(1, [123], end: false)
        let request = try Peer().requests(frames + Frames.headers(1, [("apns-topic", "late")], end: true))[0]
        #expect(request.isComplete && request.range(of: Peer.topic) == nil)
        #expect(request.bodyText == "{")
    }

    @Test func `padding and priorities are ignored`() throws {
        let priority = Frames.frame(2, 0, 1, [0, 0, 0, 0, 15])
        let block = [3, 0, 0, 0, 0, 15] + Frames.block(Frames.usual) + [0, 0, 0]
        let headers = Frames.frame(1, 0x2c, 1, block)
        let request = try Peer().requests(priority + headers + Frames.frame(0, 9, 1, [2, 123, 125, 0, 0]))[0]
        #expect(request.text(Peer.path) == "/3/device/aa" && request.bodyText == "{}")
    }

    @Test func `a field may come from the peer's table`() throws {
        // The first block indexes apns-topic, which then stands at 62; the second names it by that.
        let indexed = Frames.block(Frames.usual) + [0x40] + Frames.block([("apns-topic", "com.example")]).dropFirst()
        let again = Frames.block(Frames.usual) + [0x80 | 62]
        let requests = try Peer().requests(Frames.frame(1, 5, 1, indexed) + Frames.frame(1, 5, 3, again))
        #expect(requests.map { $0.text(Peer.topic) } == ["com.example", "com.example"])
    }

    @Test func `every field name is found`() throws {
        let names: [StaticString] = [
            ":method", ":scheme", ":path", ":authority", "authorization", "apns-topic", "apns-id", "apns-push-type",
            "apns-priority", "apns-expiration", "apns-collapse-id", "apns-request-id", "apns-channel-id", "host",
        ]
        let server = try HTTP2Server(fields: HTTP2Fields(names), limits: HTTP2Limits())
        let fields = names.map { ("\($0)", "value") }.filter { !$0.0.hasPrefix(":") }
        try server.receive((Frames.hello + Frames.headers(1, Frames.usual + fields, end: true)).span)
        var list: [HTTP2Request] = []
        server.takeRequests(into: &list)
        #expect(names.indices.allSatisfy { list[0].range(of: $0) != nil } && list[0].repeatedFields == 0)
        #expect(list[0].text(6) == "value")
    }
}
