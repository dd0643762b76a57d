import Testing

@testable import peerload

@Suite struct HTTPHeadTests {
    private let created = Array("HTTP/1.1 201 Created\r\nServer: nginx\r\nContent-Length: 12\r\n\r\n".utf8)

    @Test func `a head says what came and how long its body is`() throws {
        let head = try HTTPHead.next(in: created.span, from: 0)
        #expect(head == HTTPHead(status: 201, bodyStart: created.count, bodyCount: 12))
    }

    @Test func `a head without a length has no body`() throws {
        let bytes = Array("HTTP/1.1 101 Switching Protocols\r\n\r\n".utf8)
        #expect(try HTTPHead.next(in: bytes.span, from: 0)?.bodyCount == 0)
    }

    @Test func `a head that is cut anywhere needs more bytes`() throws {
        for end in created.indices {
            #expect(try HTTPHead.next(in: created.span.extracting(..<end), from: 0) == nil)
        }
    }

    @Test(arguments: [
        "HELLO\r\n\r\n", "HTTP/1.1 abc No\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
    func `what makes no sense is refused`(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(throws: PeerError.self) { try HTTPHead.next(in: bytes.span, from: 0) }
    }
}
