/// A short text as one number, so that a header's value is compared with a known text in one step.
struct PackedText: Equatable {
    /// The length in the highest byte, then the text, its last byte lowest. 0 for an empty text and for one of more
    /// than 15 bytes, which no known text is.
    private let value: UInt128

    /// The bytes of `range`.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        guard range.count <= Self.limit else {
            value = 0
            return
        }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for index in range {
            high = high << 8 | low >> 56
            low = low << 8 | UInt64(bytes[index])
        }
        value = UInt128(UInt64(range.count) << 56 | high) << 64 | UInt128(low)
    }

    /// A text to compare with.
    init(known text: String) {
        let bytes = Array(text.utf8)
        precondition((1...Self.limit).contains(bytes.count), "a known text has 1 to 15 bytes")
        self.init(bytes.span, 0..<bytes.count)
    }

    private static let limit = 15
}
