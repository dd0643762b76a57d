/// The 16 bytes that name a push in the whole instance: the provider sees them as `apns-unique-id`.
package struct UniqueID: Hashable, Sendable {
    /// How many bytes it has.
    package static let count = 16

    /// The first eight bytes, and the last eight, as big-endian numbers.
    package let words: (high: UInt64, low: UInt64)

    package init(high: UInt64, low: UInt64) { words = (high, low) }

    /// nil unless there are 16 bytes.
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.count else { return nil }
        func word(_ start: Int) -> UInt64 { (start..<start + 8).reduce(0) { $0 << 8 | UInt64(bytes[$1]) } }
        words = (word(0), word(8))
    }

    /// Its bytes, for the store.
    package var bytes: [UInt8] {
        [words.high, words.low].flatMap { word in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
        }
    }

    package static func == (a: UniqueID, b: UniqueID) -> Bool { a.words == b.words }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.high)
        hasher.combine(words.low)
    }
}

extension UniqueID: CustomStringConvertible {
    package var description: String { UUIDText(self).description }
}

/// A UUID as text, 8-4-4-4-12 hexadecimal digits in the case they came in. It lies inline, because each push has one
/// and its answer has two.
package struct UUIDText: Sendable {
    /// How many characters it has.
    package static let count = 36

    /// The characters, in ASCII.
    package let characters: InlineArray<36, UInt8>

    /// nil unless there are 36 characters; what they are is the caller's to check.
    package init?(_ text: Span<UInt8>) {
        guard text.count == Self.count else { return nil }
        characters = InlineArray { text[$0] }
    }

    /// The digits of an id, lowercase unless asked otherwise.
    package init(_ id: UniqueID, uppercase: Bool = false) {
        let gap: UInt64 = uppercase ? 7 : 39
        let first = hexDigits(UInt32(truncatingIfNeeded: id.words.high >> 32), gap)
        let second = hexDigits(UInt32(truncatingIfNeeded: id.words.high), gap)
        let third = hexDigits(UInt32(truncatingIfNeeded: id.words.low >> 32), gap)
        let fourth = hexDigits(UInt32(truncatingIfNeeded: id.words.low), gap)
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

    /// The characters as an array, for the store.
    package var bytes: [UInt8] { characters.indices.map { characters[$0] } }
}

extension UUIDText: CustomStringConvertible {
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}

extension UUIDText: Equatable {
    package static func == (a: UUIDText, b: UUIDText) -> Bool {
        a.characters.indices.allSatisfy { a.characters[$0] == b.characters[$0] }
    }
}

/// The eight hexadecimal digits of a number, the first in the highest byte; `gap` is what lies between the characters
/// of 9 and of 10. All digits at once: two such texts are made for each push.
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
