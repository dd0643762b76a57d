import Testing

@testable import peerload

@Suite struct NATSFrameTests {
    private func frames(_ text: String) throws -> [NATSFrame] { try frames(Array(text.utf8)) }

    private func frames(_ bytes: [UInt8]) throws -> [NATSFrame] {
        var frames: [NATSFrame] = []
        var start = 0
        while let (frame, end) = try NATSFrame.next(in: bytes.span, from: start) {
            frames.append(frame)
            start = end
        }
        return frames
    }

    @Test func `each line is told from the others`() throws {
        #expect(try frames("INFO {}\r\nPING\r\nPONG\r\n+OK\r\n") == [.other, .ping, .pong, .other])
    }

    @Test func `a message has its content behind its line`() throws {
        let found = try frames("MSG load.1 12 5\r\nab\r\nc\r\nPONG\r\n")
        #expect(found == [.message(subscription: 12, reply: 15..<15, content: 17..<22), .pong])
    }

    @Test func `a message may say where to answer`() throws {
        #expect(try frames("MSG a 1 b.c 0\r\n\r\n") == [.message(subscription: 1, reply: 8..<11, content: 15..<15)])
    }

    @Test func `a message that is cut anywhere needs more bytes`() throws {
        let bytes = Array("MSG load.1 1 2\r\nab\r\n".utf8)
        for end in bytes.indices { #expect(try frames(Array(bytes[..<end])) == []) }
    }

    @Test(arguments: ["-ERR 'no'\r\n", "MSG a 1\r\n", "MSG a b 1\r\n", "MSG a 1 -1\r\n", "\r\n", "HELLO\r\n"])
    func `what makes no sense is refused`(_ text: String) {
        #expect(throws: PeerError.self) { try frames(text) }
    }
}
