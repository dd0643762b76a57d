import HTTP2
import Testing

@Suite struct HTTP2ServerTests {
    @Test func `the first frame is SETTINGS with Apple's values and a limit of one stream`() throws {
        let peer = try Peer(HTTP2Limits(), greet: false)
        let first = try #require(peer.sent().first)
        #expect(first.kind == .settings)
        #expect(first.settings == [1: 4096, 3: 1, 4: 65535, 5: 16384, 6: 8000])
    }

    @Test func `a push arrives with its fields and its body`() throws {
        let request = try #require(try Peer().requests(Frames.push(1, [("apns-topic", "com.example")])).first)
        #expect(request.stream == 1 && request.isComplete && !request.isBodyTooLarge)
        #expect(request.text(Peer.path) == "/3/device/aa")
        #expect(request.text(Peer.topic) == "com.example")
        #expect(request.bodyText == "{}" && request.bodyCount == 2)
    }

    @Test func `a success is one HEADERS frame that ends the stream`() throws {
        let peer = try Peer()
        peer.finish(try peer.requests(Frames.push(1)))
        #expect(peer.sent() == [WireFrame(kind: .headers, flags: 5, stream: 1, payload: [0x88])])
        #expect(peer.server.openStreams == 0)
    }

    @Test func `an error is HEADERS and one DATA frame that ends the stream`() throws {
        let peer = try Peer()
        peer.respond(try peer.requests(Frames.push(1))[0], 400, body: #"{"reason":"BadDeviceToken"}"#)
        let frames = peer.sent()
        #expect(frames.map(\.kind) == [.headers, .data])
        #expect(!frames[0].ends && frames[1].ends)
        #expect(frames[1].text == #"{"reason":"BadDeviceToken"}"#)
    }
}
