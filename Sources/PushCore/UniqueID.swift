/// The 16 bytes that name a push in the whole instance: the provider sees them as `apns-unique-id`.
package struct UniqueID: Hashable, Sendable {
    /// How many bytes it has.
    package static let count = 16

    /// The first eight bytes as a big-endian number.
    package let high: UInt64
    /// The last eight.
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// nil unless there are 16 bytes.
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.count else { return nil }
        func word(_ start: Int) -> UInt64 { (start..<start + 8).reduce(0) { $0 << 8 | UInt64(bytes[$1]) } }
        high = word(0)
        low = word(8)
    }

    /// Its bytes, for the store.
    package var bytes: InlineArray<16, UInt8> {
        InlineArray { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> UInt64(56 - 8 * ($0 % 8))) }
    }
}

extension UniqueID: CustomStringConvertible {
    package var description: String { UUIDText(self).description }
}

/// A UUID as text, 8-4-4-4-12 hexadecimal digits in the case they came in. It lies inline, because each push has one.
package struct UUIDText: Sendable {
    private static let count = 36

    /// The characters, in ASCII.
    package let characters: InlineArray<36, UInt8>

    /// nil unless it is 8-4-4-4-12 hexadecimal digits of either case; no version is asked for
    /// (docs/provider-api.md).
    package init?(_ text: Span<UInt8>) {
        guard text.count == Self.count else { return nil }
        for index in 0..<Self.count {
            let isHyphen = index == 8 || index == 13 || index == 18 || index == 23
            guard isHyphen ? text[index] == UInt8(ascii: "-") : hexValue(text[index]) != nil else { return nil }
        }
        characters = InlineArray { text[$0] }
    }

    /// The digits of an id, lowercase unless asked otherwise.
    package init(_ id: UniqueID, uppercase: Bool = false) {
        // What a letter's code lies beyond that of the digit 9.
        let gap = UInt64(UInt8(ascii: uppercase ? "A" : "a") - UInt8(ascii: "9") - 1)
        let first = hexDigits(UInt32(truncatingIfNeeded: id.high >> 32), gap)
        let second = hexDigits(UInt32(truncatingIfNeeded: id.high), gap)
        let third = hexDigits(UInt32(truncatingIfNeeded: id.low >> 32), gap)
        let fourth = hexDigits(UInt32(truncatingIfNeeded: id.low), gap)
        var text = InlineArray<36, UInt8>(repeating: UInt8(ascii: "-"))
        for index in 0..<8 {
            let shift = UInt64(56 - 8 * index)
            // The second and third group of eight digits are cut in two by a hyphen.
            let place = index < 4 ? index : index + 1
            text[index] = UInt8(truncatingIfNeeded: first >> shift)
            text[9 + place] = UInt8(truncatingIfNeeded: second >> shift)
            text[19 + place] = UInt8(truncatingIfNeeded: third >> shift)
            text[28 + index] = UInt8(truncatingIfNeeded: fourth >> shift)
        }
        characters = text
    }
}

extension UUIDText: CustomStringConvertible {
    package var description: String { String(decoding: characters.indices.map { characters[$0] }, as: UTF8.self) }
}

extension UUIDText: Equatable {
    package static func == (a: UUIDText, b: UUIDText) -> Bool {
        a.characters.indices.allSatisfy { a.characters[$0] == b.characters[$0] }
    }
}

/// The eight hexadecimal digits of a number, the first in the highest byte; `gap` is what lies between the characters
/// of 9 and of 10. All digits at once: an answer has one or two of them.
private func hexDigits(_ number: UInt32, _ gap: UInt64) -> UInt64 {
    // Each nibble moves to a byte of its own.
    var digits = UInt64(number)
    digits = (digits << 16 | digits) & 0x0000_ffff_0000_ffff
    digits = (digits << 8 | digits) & 0x00ff_00ff_00ff_00ff
    digits = (digits << 4 | digits) & 0x0f0f_0f0f_0f0f_0f0f
    // 6 more carries into the high nibble exactly where there are ten or more.
    let letters = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return digits &+ 0x3030_3030_3030_3030 &+ letters &* gap
}
