/// A short text as one number, so that a header's value is compared with a known text in one step: its length in the
/// highest byte, then its bytes, the last one lowest. 0, which stands for no known text, if it has more than 15 bytes.
func packed(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt128 {
    guard range.count <= 15 else { return 0 }
    var (high, low): (UInt64, UInt64) = (0, 0)
    for index in range {
        high = high << 8 | low >> 56
        low = low << 8 | UInt64(bytes[index])
    }
    return UInt128(UInt64(range.count) << 56 | high) << 64 | UInt128(low)
}

/// The same of a text that is known; at most 15 bytes.
func packed(_ text: String) -> UInt128 {
    let bytes = Array(text.utf8)
    return packed(bytes.span, 0..<bytes.count)
}
