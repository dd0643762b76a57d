import HTTP2

/// A provider's side of HTTP/2 (RFC 9113), no more than a load needs: bytes in, answers and bytes out, no I/O.
package struct ProviderConversation: ~Copyable {
    /// What became of a request.
    package struct Answer: Equatable {
        /// What `open` was told.
        package let number: Int
        /// When `open` was told that it should go out.
        package let planned: Int64
        /// 0 when the server reset the stream, or ended it without a status.
        package let status: Int
    }

    private struct Slot {
        /// 0 when the slot is free.
        var stream: UInt32 = 0
        var status = 0
        var number = 0
        var planned: Int64 = 0
    }

    /// Bytes of a frame's head.
    static let headSize = 9
    /// What the server may send us before it needs credit: as much as HTTP/2 can say, for we read all at once.
    private static let receiveWindow = 0x7fff_ffff
    /// Slots per request in flight. A stream whose slot is still taken waits, which happens only to one that overtakes
    /// another by this factor.
    private static let slotFactor = 8

    /// Whether the server's SETTINGS have come: before, nothing may be assumed of it.
    package private(set) var isReady = false
    /// The header table that the server allows, as far as we use it.
    package private(set) var tableSize = 4096
    /// Whether a request was sent, so that the server's header table is filled.
    private(set) var isPrimed = false
    /// Requests without an answer.
    package private(set) var openCount = 0
    /// What must be sent before all else; the caller takes it.
    package var output: [UInt8]

    private let limit: Int
    private var decoder: HeaderDecoder
    /// The beginning of a frame whose rest has not come.
    private var rest: [UInt8] = []
    /// A header block that goes on in CONTINUATION, and the frame that began it; nil when none does.
    private var block: [UInt8] = []
    private var blockStart: Frame?
    private var slots: [Slot]
    private var nextStream: UInt32 = 1
    private var streamLimit = Int.max
    private var window = 65_535
    private var streamWindow = 65_535
    private var creditUsed = 0

    /// At most `limit` requests are open at a time, fewer if the server says so.
    package init(limit: Int) throws(LoadError) {
        self.limit = limit
        var size = 1
        while size < limit * Self.slotFactor { size *= 2 }
        slots = Array(repeating: Slot(), count: size)
        decoder = try http2 { () throws(HTTP2Error) in try HeaderDecoder() }
        output = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        output.appendFrameHead(FrameType.settings, count: 12)
        // No push, and windows that never fill.
        output += [0, 2, 0, 0, 0, 0] + [0, 4] + word(UInt32(Self.receiveWindow))
        output.appendFrameHead(FrameType.windowUpdate, count: 4)
        output += word(UInt32(Self.receiveWindow - 65_535))
    }

    /// Whether one more request with a body of so many bytes may be sent now.
    package func mayOpen(bodyCount: Int) -> Bool {
        openCount < min(limit, streamLimit) && bodyCount <= window && bodyCount <= streamWindow
            && slots[slot(of: nextStream)].stream == 0 && isReady
    }

    /// Whether the server lets no body of this size through at all.
    func refuses(bodyCount: Int) -> Bool { isReady && bodyCount > streamWindow }

    /// Takes the next stream for a request; `mayOpen` has said that it may.
    package mutating func open(_ number: Int, planned: Int64, bodyCount: Int) -> UInt32 {
        let stream = nextStream
        precondition(stream < 0x7fff_ffff, "a connection has used up its streams")
        slots[slot(of: stream)] = Slot(stream: stream, number: number, planned: planned)
        nextStream += 2
        openCount += 1
        window -= bodyCount
        isPrimed = true
        return stream
    }

    /// Takes what the server sent and appends the answers that are complete.
    package mutating func receive(_ bytes: Span<UInt8>, answers: inout [Answer]) throws(LoadError) {
        if rest.isEmpty {
            let count = try read(bytes, &answers)
            rest.append(contentsOf: bytes.extracting(count..<bytes.count))
        } else {
            var all: [UInt8] = []
            swap(&all, &rest)
            all.append(contentsOf: bytes)
            let count = try read(all.span, &answers)
            rest.append(contentsOf: all.span.extracting(count..<all.count))
        }
    }

    /// Reads whole frames and returns how many bytes they had.
    private mutating func read(_ bytes: Span<UInt8>, _ answers: inout [Answer]) throws(LoadError) -> Int {
        var start = 0
        while bytes.count - start >= Self.headSize {
            let count = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
            // Ours is the default MAX_FRAME_SIZE; a frame beyond it is the server's fault.
            guard count <= 16_384 else { throw .protocolBroken("the server sent a frame of \(count) bytes") }
            let end = start + Self.headSize + count
            guard end <= bytes.count else { break }
            let payload = bytes.extracting(start + Self.headSize..<end)
            let stream = bytes.word(at: start + 5) & 0x7fff_ffff
            try take(Frame(type: bytes[start + 3], flags: bytes[start + 4], stream: stream), payload, &answers)
            start = end
        }
        return start
    }

    private struct Frame {
        let type: UInt8
        let flags: UInt8
        let stream: UInt32

        func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
    }

    private mutating func take(
        _ frame: Frame,
        _ payload: Span<UInt8>,
        _ answers: inout [Answer]
    ) throws(LoadError) {
        guard blockStart == nil || frame.type == FrameType.continuation else {
            throw .protocolBroken("the server sent another frame in the middle of headers")
        }
        switch frame.type {
        case FrameType.headers: try takeHeaders(frame, payload, &answers)
        case FrameType.continuation: try takeContinuation(frame, payload, &answers)
        case FrameType.data:
            giveCredit(payload.count)
            if frame.has(FrameFlag.endStream) { finish(frame.stream, &answers) }
        case FrameType.reset:
            // Also if headers came before: the answer is not whole.
            let slot = slot(of: frame.stream)
            if slots[slot].stream == frame.stream { slots[slot].status = 0 }
            finish(frame.stream, &answers)
        case FrameType.settings: if !frame.has(FrameFlag.acknowledge) { try takeSettings(payload) }
        case FrameType.ping:
            guard !frame.has(FrameFlag.acknowledge) else { break }
            output.appendFrameHead(FrameType.ping, flags: FrameFlag.acknowledge, count: payload.count)
            output.append(contentsOf: payload)
        case FrameType.windowUpdate:
            // Streams need none: each request goes out whole.
            guard payload.count == 4 else { throw .protocolBroken("the server sent a bad WINDOW_UPDATE") }
            if frame.stream == 0 { window += Int(payload.word(at: 0) & 0x7fff_ffff) }
        case FrameType.goAway:
            let code = payload.count >= 8 ? payload.word(at: 4) : 0
            let debug = payload.count > 8 ? ": \(text(payload.extracting(8..<payload.count)))" : ""
            throw .protocolBroken("the server said GOAWAY with code \(code)\(debug)")
        case FrameType.pushPromise: throw .protocolBroken("the server pushes although it was told not to")
        default: break
        }
    }

    private mutating func takeHeaders(
        _ frame: Frame,
        _ payload: Span<UInt8>,
        _ answers: inout [Answer]
    ) throws(LoadError) {
        var (start, end) = (0, payload.count)
        if frame.has(FrameFlag.padded), end > 0 {
            start = 1
            end -= Int(payload[0])
        }
        if frame.has(FrameFlag.priority) { start += 5 }
        guard start <= end else { throw .protocolBroken("the server sent a bad HEADERS frame") }
        let fragment = payload.extracting(start..<end)
        guard frame.has(FrameFlag.endHeaders) else {
            block.append(contentsOf: fragment)
            blockStart = frame
            return
        }
        try takeBlock(fragment, of: frame.stream, ends: frame.has(FrameFlag.endStream), &answers)
    }

    private mutating func takeContinuation(
        _ frame: Frame,
        _ payload: Span<UInt8>,
        _ answers: inout [Answer]
    ) throws(LoadError) {
        guard let start = blockStart, start.stream == frame.stream else {
            throw .protocolBroken("the server sent CONTINUATION of no headers")
        }
        block.append(contentsOf: payload)
        guard block.count <= 1 << 20 else { throw .protocolBroken("the server's headers never end") }
        guard frame.has(FrameFlag.endHeaders) else { return }
        var whole: [UInt8] = []
        swap(&whole, &block)
        blockStart = nil
        try takeBlock(whole.span, of: frame.stream, ends: start.has(FrameFlag.endStream), &answers)
    }

    private mutating func takeBlock(
        _ block: Span<UInt8>,
        of stream: UInt32,
        ends: Bool,
        _ answers: inout [Answer]
    ) throws(LoadError) {
        let status: Int?
        do { status = try decoder.status(block) } catch { throw .http2(error) }
        let slot = slot(of: stream)
        // Below 200 another answer follows; trailers have no status.
        if let status, status >= 200, slots[slot].stream == stream { slots[slot].status = status }
        if ends { finish(stream, &answers) }
    }

    private mutating func finish(_ stream: UInt32, _ answers: inout [Answer]) {
        let slot = slot(of: stream)
        // A stream that was reset and then answered is done once.
        guard slots[slot].stream == stream, stream != 0 else { return }
        answers.append(
            Answer(number: slots[slot].number, planned: slots[slot].planned, status: slots[slot].status)
        )
        slots[slot].stream = 0
        openCount -= 1
    }

    private mutating func takeSettings(_ payload: Span<UInt8>) throws(LoadError) {
        guard payload.count % 6 == 0 else { throw .protocolBroken("the server sent bad SETTINGS") }
        for start in stride(from: 0, to: payload.count, by: 6) {
            let value = Int(payload.word(at: start + 2))
            switch Int(payload[start]) << 8 | Int(payload[start + 1]) {
            case 1:
                guard !isPrimed || value >= tableSize else {
                    throw .protocolBroken("the server took its header table back")
                }
                tableSize = min(4096, value)
            case 3: streamLimit = value
            case 4: streamWindow = value
            default: break
            }
        }
        isReady = true
        output.appendFrameHead(FrameType.settings, flags: FrameFlag.acknowledge, count: 0)
    }

    /// Bodies of answers use the connection's window up; half of it is given back at once.
    private mutating func giveCredit(_ count: Int) {
        creditUsed += count
        guard creditUsed > Self.receiveWindow / 2 else { return }
        output.appendFrameHead(FrameType.windowUpdate, count: 4)
        output += word(UInt32(creditUsed))
        creditUsed = 0
    }

    private func slot(of stream: UInt32) -> Int { Int(stream >> 1) & (slots.count - 1) }

    private func text(_ bytes: Span<UInt8>) -> String {
        String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends the nine bytes that stand before a frame's payload.
    mutating func appendFrameHead(_ type: UInt8, flags: UInt8 = 0, count: Int, stream: UInt32 = 0) {
        append(UInt8(truncatingIfNeeded: count >> 16))
        append(UInt8(truncatingIfNeeded: count >> 8))
        append(UInt8(truncatingIfNeeded: count))
        append(type)
        append(flags)
        append(contentsOf: word(stream))
    }

    /// Appends all of a span.
    mutating func append(contentsOf bytes: Span<UInt8>) {
        // Appending nothing to an empty array writes to the one empty array that all threads share.
        guard !bytes.isEmpty else { return }
        append(addingCapacity: bytes.count) { output in
            for index in bytes.indices { output.append(bytes[index]) }
        }
    }

    /// Overwrites four bytes with a number, most significant first.
    mutating func setWord(_ value: UInt32, at index: Int) {
        self[index] = UInt8(truncatingIfNeeded: value >> 24)
        self[index + 1] = UInt8(truncatingIfNeeded: value >> 16)
        self[index + 2] = UInt8(truncatingIfNeeded: value >> 8)
        self[index + 3] = UInt8(truncatingIfNeeded: value)
    }
}

extension Span<UInt8> {
    /// Four bytes as a number, most significant first.
    func word(at index: Int) -> UInt32 {
        UInt32(self[index]) << 24 | UInt32(self[index + 1]) << 16 | UInt32(self[index + 2]) << 8
            | UInt32(self[index + 3])
    }
}

private func word(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
}
