/// What a NATS server sends: a line, and behind some lines a message's content.
enum NATSFrame: Equatable {
    /// A message on the subscription with that number: where its reply subject (empty if none) and its content are.
    case message(subscription: Int, reply: Range<Int>, content: Range<Int>)
    /// The server asks for a sign of life.
    case ping
    /// It has taken all that was sent before the question.
    case pong
    /// Something it tells everyone, such as INFO.
    case other

    /// The frame that starts at `start`, and where the next one does; nil when more bytes are needed.
    static func next(in bytes: Span<UInt8>, from start: Int) throws(PeerError) -> (frame: NATSFrame, end: Int)? {
        guard let end = lineEnd(in: bytes, from: start) else { return nil }
        // The line without its CR and LF.
        let line = start..<max(start, end - 2)
        guard line.count > 1 else { throw .refused("the server sent an empty line") }
        switch (bytes[line.lowerBound], bytes[line.lowerBound + 1]) {
        case (UInt8(ascii: "M"), UInt8(ascii: "S")): return try message(in: bytes, line)
        case (UInt8(ascii: "P"), UInt8(ascii: "I")): return (.ping, end)
        case (UInt8(ascii: "P"), UInt8(ascii: "O")): return (.pong, end)
        case (UInt8(ascii: "I"), UInt8(ascii: "N")), (UInt8(ascii: "+"), UInt8(ascii: "O")): return (.other, end)
        default: throw .refused("the server said \(text(bytes, line))")
        }
    }

    /// Where the line after the one at `start` begins; nil when it has no end yet.
    static func lineEnd(in bytes: Span<UInt8>, from start: Int) -> Int? {
        for index in start..<max(start, bytes.count) where bytes[index] == UInt8(ascii: "\n") { return index + 1 }
        return nil
    }

    /// `MSG subject subscription [reply] count`.
    private static func message(
        in bytes: Span<UInt8>,
        _ line: Range<Int>
    ) throws(PeerError) -> (frame: NATSFrame, end: Int)? {
        let words = Words(bytes, line)
        guard words.count == 4 || words.count == 5 else { throw .refused("a MSG line has \(words.count) words") }
        guard let subscription = decimal(bytes, words[2]), let count = decimal(bytes, words[words.count - 1]) else {
            throw .refused("a MSG line lacks a number")
        }
        let start = line.upperBound + 2
        guard start + count + 2 <= bytes.count else { return nil }
        let reply = words.count == 5 ? words[3] : line.upperBound..<line.upperBound
        let content = start..<start + count
        return (.message(subscription: subscription, reply: reply, content: content), start + count + 2)
    }
}

/// Where the words of a line are, the first five of them: kept without an allocation, because each message has a line.
private struct Words {
    private var ranges: InlineArray<6, Range<Int>> = InlineArray(repeating: 0..<0)
    private(set) var count = 0

    init(_ bytes: Span<UInt8>, _ line: Range<Int>) {
        var start = line.lowerBound
        for index in line.lowerBound...line.upperBound
        where index == line.upperBound || bytes[index] == UInt8(ascii: " ") {
            if index > start && count < 6 {
                ranges[count] = start..<index
                count += 1
            }
            start = index + 1
        }
    }

    subscript(index: Int) -> Range<Int> { ranges[index] }
}

private func decimal(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
    guard (1...9).contains(range.count) else { return nil }
    var number = 0
    for index in range {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) else { return nil }
        number = number * 10 + Int(bytes[index] - UInt8(ascii: "0"))
    }
    return number
}

private func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
    String(decoding: range.map { bytes[$0] }, as: UTF8.self)
}
