import Testing

@testable import HTTP2

@Suite struct FrameHeadsTests {
    private struct Head: Equatable {
        let type: UInt8
        let flags: UInt8
        let length: Int
    }

    private static let bytes =
        Frames.hello + Frames.push(1) + Frames.frame(0xfa, 0xff, 7, [1, 2, 3]) + Frames.frame(0, 0, 1, [])

    @Test(arguments: [1, 2, 8, 9, 10, 33, 1000])
    func `each frame is found once however the bytes are cut`(size: Int) {
        var (heads, found) = (FrameHeads(), [Head]())
        for start in stride(from: 0, to: Self.bytes.count, by: size) {
            let piece = Array(Self.bytes[start..<min(start + size, Self.bytes.count)])
            let end = heads.walk(piece.span) { type, flags, length in
                found.append(Head(type: type, flags: flags, length: length))
                return true
            }
            #expect(end == piece.count)
        }
        #expect(found.map(\.type) == [4, 1, 0, 0xfa, 0])
        #expect(found.map(\.flags) == [0, 4, 1, 0xff, 0])
        #expect(found.suffix(2).map(\.length) == [3, 0])
    }

    @Test func `the walk stops before the head that is not admitted`() {
        var heads = FrameHeads()
        let end = heads.walk(Self.bytes.span) { type, _, _ in type != 0xfa }
        #expect(end == (Frames.hello + Frames.push(1)).count)
    }

    @Test func `a head that began in the last piece stops the walk at once`() {
        var heads = FrameHeads()
        let first = heads.walk((Frames.hello + [0, 0, 8]).span) { _, _, _ in true }
        let second = heads.walk([6, 0, 0, 0, 0, 0, 9].span) { type, _, _ in type != 6 }
        #expect(first == Frames.hello.count + 3 && second == 0)
    }
}
