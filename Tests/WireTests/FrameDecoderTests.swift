import Testing

@testable import Wire

@Suite struct FrameDecoderTests {
    @Test func `a body past the limit is refused at its head`() {
        var decoder = FrameDecoder(frameLimit: 16)
        decoder.append(hex("09 0000 0011").span)
        #expect(throws: WireError.frameTooLong(17)) { try decoder.next() }
        #expect(throws: WireError.frameTooLong(17)) { try decoder.next() }
    }

    @Test func `a body of exactly the limit passes`() throws {
        #expect(try deviceMessages(hex("0f 00000003 010000"), limit: 3) == [.unknown(15)])
    }

    @Test func `the limit can be raised between frames`() throws {
        var decoder = FrameDecoder(frameLimit: 0)
        decoder.append(hex("0c 00000000 14 00000004").span)
        #expect(try decoder.next() == .keepAlive(intervalMinutes: nil))
        decoder.frameLimit = 4
        decoder.append(hex("01 0001 01").span)
        #expect(try decoder.next() == .setState(1))
    }

    @Test func `the largest length does not overflow`() {
        #expect(throws: WireError.frameTooLong(.max)) { try deviceMessages(hex("09 ffffffff")) }
    }

    @Test func `a buffer whose frames were all returned holds no memory`() throws {
        var buffer = FrameBuffer()
        buffer.append(hex("0c 00000000 0c 00000000").span)
        #expect(try buffer.next(limit: 1) { command, _ throws(Malformed) in command } == 12)
        #expect(try buffer.next(limit: 1) { command, _ throws(Malformed) in command } == 12)
        #expect(try buffer.next(limit: 1) { command, _ throws(Malformed) in command } == nil)
        #expect(buffer.capacity == 0)
    }

    @Test func `a buffer keeps of a long read only what was not returned`() throws {
        var buffer = FrameBuffer()
        buffer.append(
            (DeviceMessage.unknown(1).encoded + [0x0f, 0, 0, 0x10, 0] + [UInt8](repeating: 0, count: 99)).span
        )
        _ = try buffer.next(limit: 4_096) { command, _ throws(Malformed) in command }
        #expect(try buffer.next(limit: 4_096) { command, _ throws(Malformed) in command } == nil)
        #expect((104..<200).contains(buffer.capacity))
    }

    @Test func `what is lent comes back, and the beginning of a frame stays`() throws {
        var buffer = FrameBuffer()
        var room: [UInt8] = []
        room.reserveCapacity(4_096)
        let lent = room.capacity
        for piece in ["0c 00000000 0c 00", "000000", "0c 00000000"] {
            buffer.append(hex(piece).span, lending: &room)
            while try buffer.next(limit: 1, { command, _ throws(Malformed) in command }) != nil {}
            buffer.takeBack(&room)
            #expect(room.isEmpty && buffer.capacity < 100)
        }
        #expect(buffer.count == 0 && buffer.capacity == 0 && room.capacity == lent)
    }

    @Test func `random bytes never trap and are read alike in one piece and in many`() {
        var generator = Seeded(state: 20_260_701)
        for _ in 0..<2_000 {
            let bytes = generator.bytes()
            #expect(outcome(bytes, cut: .max) == outcome(bytes, cut: 1))
            #expect(outcome(bytes, cut: .max) == outcome(bytes, cut: 7))
        }
    }

    /// The messages before the end or the error, and the error.
    private func outcome(_ bytes: [UInt8], cut: Int) -> [String] {
        var decoder = FrameDecoder(frameLimit: 512)
        var seen: [String] = []
        for start in stride(from: 0, to: bytes.count, by: min(cut, bytes.count)) {
            decoder.append(Array(bytes[start..<min(bytes.count, start + min(cut, bytes.count))]).span)
            do {
                while let message = try decoder.next() { seen.append("\(message)") }
            } catch {
                return seen + ["\(error)"]
            }
        }
        return seen
    }
}

/// Random streams that look enough like frames to get past the head.
private struct Seeded {
    var state: UInt64

    mutating func next() -> UInt8 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 56)
    }

    mutating func bytes() -> [UInt8] {
        let commands: [UInt8] = [7, 9, 10, 11, 12, 17, 20, 29, 201, 0]
        var bytes: [UInt8] = []
        for _ in 0..<4 {
            let items = (0..<Int(next() % 4)).flatMap { _ -> [UInt8] in
                let count = [0, 1, 2, 4, 20][Int(next() % 5)]
                return [next() % 18, 0, UInt8(count)] + (0..<count).map { _ in next() }
            }
            let length = UInt8(items.count) &+ (next() % 8 == 0 ? next() : 0)
            bytes += [commands[Int(next()) % commands.count], 0, 0, 0, length] + items
        }
        return bytes
    }
}
