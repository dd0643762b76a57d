/// The token a provider puts in the path: opaque bytes, hexadecimal outside.
///
/// The first 32 bytes, which is nearly always all of it, lie inline so that a look-up allocates nothing. `Hasher` is
/// keyed per process and `==` takes the same time wherever the bytes differ, so a look-up tells a guesser nothing.
package struct DeviceToken: Hashable, Sendable {
    /// Bytes in a token that Carillon makes itself.
    package static let usualCount = 32
    /// The longest token seen in the field is 100 bytes.
    package static let countLimit = 100

    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    private var tail: [UInt8] = []
    /// Bytes in it.
    package let count: Int

    /// nil unless there are 1 to `countLimit` bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard (1...Self.countLimit).contains(bytes.count) else { return nil }
        count = bytes.count
        for (index, byte) in bytes.enumerated() { set(byte, at: index) }
    }

    /// Reads hexadecimal digits of either case; nil for anything else, an odd count, or too many.
    package init?(hex: Span<UInt8>) {
        guard hex.count % 2 == 0, (1...Self.countLimit).contains(hex.count / 2) else { return nil }
        count = hex.count / 2
        if count == Self.usualCount {
            // Nearly every push comes here: four words, no loop over a switch.
            guard let a = hexWord(hex, at: 0), let b = hexWord(hex, at: 16), let c = hexWord(hex, at: 32),
                let d = hexWord(hex, at: 48)
            else { return nil }
            words = (a, b, c, d)
            return
        }
        for index in 0..<count {
            guard let high = hexValue(hex[2 * index]), let low = hexValue(hex[2 * index + 1]) else { return nil }
            set(high << 4 | low, at: index)
        }
    }

    package init?(hex: String) {
        let digits = Array(hex.utf8)
        self.init(hex: digits.span)
    }

    private mutating func set(_ byte: UInt8, at index: Int) {
        let shifted = UInt64(byte) << UInt64(56 - 8 * (index & 7))
        switch index >> 3 {
        case 0: words.0 |= shifted
        case 1: words.1 |= shifted
        case 2: words.2 |= shifted
        case 3: words.3 |= shifted
        default: tail.append(byte)
        }
    }

    /// One of its bytes.
    package subscript(_ index: Int) -> UInt8 {
        let word =
            switch index >> 3 {
            case 0: words.0
            case 1: words.1
            case 2: words.2
            case 3: words.3
            default: UInt64(tail[index - Self.usualCount]) << UInt64(56 - 8 * (index & 7))
            }
        return UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (index & 7)))
    }

    /// All of its bytes.
    package var bytes: [UInt8] { (0..<count).map { self[$0] } }
    /// Two lowercase digits for each byte.
    package var hex: String { hexadecimal(bytes) }

    /// The first two bytes: they name the token's home loop.
    package var bucket: UInt16 { UInt16(truncatingIfNeeded: words.0 >> 48) }

    /// Eight hexadecimal digits: all of a token that a log may show.
    package var prefix: String { String(hexadecimal(bytes.prefix(4))) }

    package static func == (a: DeviceToken, b: DeviceToken) -> Bool {
        var difference = (a.words.0 ^ b.words.0) | (a.words.1 ^ b.words.1)
        difference |= (a.words.2 ^ b.words.2) | (a.words.3 ^ b.words.3) | UInt64(truncatingIfNeeded: a.count ^ b.count)
        guard a.tail.count == b.tail.count else { return false }
        for index in a.tail.indices { difference |= UInt64(a.tail[index] ^ b.tail[index]) }
        return difference == 0
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
        if !tail.isEmpty { hasher.combine(tail) }
    }
}

extension DeviceToken: CustomStringConvertible {
    package var description: String { prefix }
}

/// Sixteen hexadecimal digits from `start` on, as a number.
private func hexWord(_ digits: Span<UInt8>, at start: Int) -> UInt64? {
    guard let high = hexHalf(digits, at: start), let low = hexHalf(digits, at: start + 8) else { return nil }
    return high << 32 | low
}

/// Eight digits, one in each byte of a word: nearly every push has 64, and one by one they cost 900 instructions.
private func hexHalf(_ digits: Span<UInt8>, at start: Int) -> UInt64? {
    var text: UInt64 = 0
    for index in start..<start + 8 { text = text << 8 | UInt64(digits[index]) }
    // Below 128 a sum stays within its byte, and its highest bit says whether the byte reaches a bound.
    let tops: UInt64 = 0x8080_8080_8080_8080
    let ones: UInt64 = 0x0101_0101_0101_0101
    func reaches(_ bytes: UInt64, _ bound: UInt8) -> UInt64 { bytes &+ ones &* UInt64(128 - bound) }
    let lowercase = text | ones &* 0x20
    let isDigit = reaches(text, UInt8(ascii: "0")) & ~reaches(text, UInt8(ascii: "9") + 1)
    let isLetter = reaches(lowercase, UInt8(ascii: "a")) & ~reaches(lowercase, UInt8(ascii: "f") + 1)
    guard text & tops == 0, (isDigit | isLetter) & tops == tops else { return nil }
    // A letter's low nibble counts from 1 where its value counts from 10.
    var value = (text & 0x0f0f_0f0f_0f0f_0f0f) &+ (text >> 6 & ones) &* 9
    value = (value >> 4 | value) & 0x00ff_00ff_00ff_00ff
    value = (value >> 8 | value) & 0x0000_ffff_0000_ffff
    return (value >> 16 | value) & 0xffff_ffff
}
