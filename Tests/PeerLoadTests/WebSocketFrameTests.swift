import Testing

@testable import peerload

@Suite struct WebSocketFrameTests {
    private func frame(_ length: [UInt8], content: Int) -> [UInt8] {
        [0x81] + length + [UInt8](repeating: 0x61, count: content)
    }

    @Test(
        arguments: [
            ([0], 0), ([125], 125), ([126, 0, 126], 126), ([126, 4, 0], 1024), ([127, 0, 0, 0, 0, 0, 1, 0, 0], 65_536),
        ] as [([UInt8], Int)]
    )
    func `each form of the length is read`(_ length: [UInt8], _ count: Int) throws {
        let bytes = frame(length, content: count)
        let found = try WebSocketFrame.next(in: bytes.span, from: 0)
        #expect(found == WebSocketFrame(head: 0x81, content: 1 + length.count..<bytes.count))
    }

    @Test func `a frame that is cut anywhere needs more bytes`() throws {
        let bytes = frame([126, 0, 200], content: 200)
        for end in bytes.indices {
            #expect(try WebSocketFrame.next(in: bytes.span.extracting(..<end), from: 0) == nil)
        }
    }

    @Test(arguments: [[0x81, 0x85], [0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0]] as [[UInt8]])
    func `a masked frame and an endless one are refused`(_ bytes: [UInt8]) {
        #expect(throws: PeerError.self) { try WebSocketFrame.next(in: bytes.span, from: 0) }
    }
}
