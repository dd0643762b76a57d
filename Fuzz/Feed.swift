/// Takes an input apart into what an entry needs; past its end everything is 0.
struct Feed {
    private var left: ArraySlice<UInt8>

    init(_ input: some Collection<UInt8>) { left = Array(input)[...] }

    var isAtEnd: Bool { left.isEmpty }

    mutating func byte() -> UInt8 { left.popFirst() ?? 0 }

    mutating func number() -> Int64 { (0..<8).reduce(0) { number, _ in number << 8 | Int64(byte()) } }

    /// As many as the next byte says.
    mutating func bytes() -> [UInt8] {
        let count = Int(byte())
        defer { left = left.dropFirst(count) }
        return Array(left.prefix(count))
    }

    mutating func rest() -> [UInt8] {
        defer { left = [] }
        return Array(left)
    }
}
