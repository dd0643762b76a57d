import PushCore

/// The payload of a load's push: JSON of a given size with a mark and a number at a fixed place, so that a device
/// finds them without parsing.
enum LoadPayload {
    private static let head = Array(#"{"bench":""#.utf8)
    private static let middle = Array(#"","aps":{"alert":""#.utf8)
    private static let tail = Array(#""}}"#.utf8)
    /// Hexadecimal digits of the mark, and of the number.
    private static let digits = 8

    /// Where the number's digits begin.
    static let numberOffset = head.count + digits
    /// The smallest payload there is.
    static let minimum = head.count + 2 * digits + middle.count + tail.count

    /// A payload with number 0; `count` is at least the minimum.
    static func bytes(count: Int, mark: UInt32) -> [UInt8] {
        precondition(count >= minimum, "no room for the mark and the number")
        var bytes = head + Array(repeating: UInt8(ascii: "0"), count: 2 * digits) + middle
        write(mark, to: &bytes, at: head.count)
        return bytes + Array(repeating: UInt8(ascii: "x"), count: count - minimum) + tail
    }

    /// Overwrites eight digits.
    static func write(_ number: UInt32, to bytes: inout [UInt8], at index: Int) {
        for digit in 0..<digits {
            let value = UInt8(truncatingIfNeeded: number >> UInt32(28 - 4 * digit)) & 15
            bytes[index + digit] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
        }
    }

    /// The mark and the number of a payload; nil for one that no load made.
    static func read(_ payload: [UInt8]) -> (mark: UInt32, number: Int)? {
        guard payload.count >= minimum, payload[..<head.count].elementsEqual(head) else { return nil }
        guard let mark = number(payload[head.count..<numberOffset]),
            let number = number(payload[numberOffset..<numberOffset + digits])
        else { return nil }
        return (mark, Int(number))
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt32? {
        var number: UInt32 = 0
        for digit in digits {
            guard let value = hexValue(digit) else { return nil }
            number = number << 4 | UInt32(value)
        }
        return number
    }
}
