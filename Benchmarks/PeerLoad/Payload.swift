/// What each message carries: the run it belongs to and its number, in hexadecimal because some peers take only text,
/// and padding.
struct Payload: Sendable {
    /// The fewest bytes that hold both numbers.
    static let minimum = 24

    private static let runDigits = 8
    private let template: [UInt8]

    /// `run` tells the messages of this run from those that an earlier one left behind.
    init(run: UInt32, count: Int) {
        precondition(count >= Self.minimum, "no room for the numbers")
        var template = [UInt8](repeating: UInt8(ascii: "x"), count: count)
        write(UInt64(run), digits: Self.runDigits, into: &template, at: 0)
        self.template = template
    }

    /// Bytes of one message's content.
    var count: Int { template.count }

    func append(_ number: Int, to output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: template)
        write(UInt64(number), digits: Self.minimum - Self.runDigits, into: &output, at: start + Self.runDigits)
    }

    /// The number of a message; nil if it is of another run.
    func number(in content: Span<UInt8>) throws(PeerError) -> Int? {
        guard content.count >= Self.minimum else { throw .refused("a message came that nobody published") }
        for index in 0..<Self.runDigits where content[index] != template[index] { return nil }
        var number: UInt64 = 0
        for index in Self.runDigits..<Self.minimum {
            let digit = content[index]
            // 'a' is 0x61: its low four bits and 9 are ten.
            number = number << 4 | UInt64(digit & 0x0f) + (digit >= UInt8(ascii: "a") ? 9 : 0)
        }
        return Int(truncatingIfNeeded: number)
    }
}

private func write(_ number: UInt64, digits: Int, into bytes: inout [UInt8], at start: Int) {
    var rest = number
    for index in stride(from: start + digits - 1, through: start, by: -1) {
        let digit = UInt8(rest & 15)
        bytes[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        rest >>= 4
    }
}
