/// What a client writes, byte by byte: no library of ours helps the tests.
enum Frames {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    static let hello = preface + settings([])
    static let settingsAcknowledged = frame(4, 1, 0, [])

    static func frame(_ type: UInt8, _ flags: UInt8, _ stream: Int32, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        let head = [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags]
        return head + word(UInt32(bitPattern: stream)) + payload
    }

    static func settings(_ entries: [(UInt16, UInt32)]) -> [UInt8] {
        frame(4, 0, 0, entries.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] + word($1) })
    }

    static func headers(_ stream: Int32, _ fields: [(String, String)], end: Bool = false) -> [UInt8] {
        headers(stream, fields: fields.map { (Array($0.utf8), Array($1.utf8)) }, end: end)
    }

    static func headers(_ stream: Int32, fields: [(name: [UInt8], value: [UInt8])], end: Bool) -> [UInt8] {
        frame(1, end ? 5 : 4, stream, fields.flatMap { [0x10] + text($0.name) + text($0.value) })
    }

    /// A header block in one HEADERS and `pieces` CONTINUATION frames.
    static func continued(_ stream: Int32, _ fields: [(String, String)], pieces: Int) -> [UInt8] {
        let block = block(fields)
        let size = block.count / (pieces + 1) + 1
        return (0...pieces).flatMap { piece in
            let part = block.dropFirst(piece * size).prefix(size)
            return frame(piece == 0 ? 1 : 9, piece == pieces ? 4 : 0, stream, Array(part))
        }
    }

    static func data(_ stream: Int32, _ body: [UInt8], end: Bool = true) -> [UInt8] {
        frame(0, end ? 1 : 0, stream, body)
    }

    static func reset(_ stream: Int32, _ code: UInt32 = 8) -> [UInt8] { frame(3, 0, stream, word(code)) }

    static func windowUpdate(_ stream: Int32, _ credit: UInt32) -> [UInt8] { frame(8, 0, stream, word(credit)) }

    /// A push as providers send it, body included.
    static func push(_ stream: Int32, _ extra: [(String, String)] = [], body: String = "{}") -> [UInt8] {
        headers(stream, usual + extra) + data(stream, Array(body.utf8))
    }

    static let usual = [(":method", "POST"), (":scheme", "https"), (":path", "/3/device/aa"), (":authority", "a")]

    /// HPACK: every field a literal that is never indexed, without Huffman.
    static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { [0x10] + text(Array($0.utf8)) + text(Array($1.utf8)) }
    }

    private static func text(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var (rest, count) = (bytes.count - 127, [UInt8(127)])
        while rest >= 128 {
            count.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        return count + [UInt8(rest)] + bytes
    }

    static func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }
}

/// One frame that the server wrote.
struct WireFrame: Equatable {
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    let kind: Kind
    let flags: UInt8
    let stream: Int32
    let payload: [UInt8]

    var ends: Bool { flags & 1 != 0 }
    var text: String { String(decoding: payload, as: UTF8.self) }

    /// A number of four bytes in the payload: an error code, a window's credit.
    func word(at index: Int = 0) -> UInt32 { payload[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) } }

    /// The values of a SETTINGS frame by their ids.
    var settings: [Int: UInt32] {
        var values: [Int: UInt32] = [:]
        guard kind == .settings else { return values }
        for start in stride(from: 0, to: payload.count, by: 6) { values[Int(payload[start + 1])] = word(at: start + 2) }
        return values
    }

    static func parse(_ bytes: [UInt8]) -> [WireFrame] {
        var (frames, rest) = ([WireFrame](), bytes[...])
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let end = 9 + Int(head[0]) << 16 + Int(head[1]) << 8 + Int(head[2])
            let stream = head[5...].reduce(0) { $0 << 8 | Int32($1) }
            let payload = Array(rest.dropFirst(9).prefix(end - 9))
            frames.append(WireFrame(kind: Kind(rawValue: head[3])!, flags: head[4], stream: stream, payload: payload))
            rest = rest.dropFirst(end)
        }
        precondition(rest.isEmpty, "the server wrote a part of a frame")
        return frames
    }
}
