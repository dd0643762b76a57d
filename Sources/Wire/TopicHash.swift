/// SHA-1 of a topic's name in UTF-8: how the device protocol names topics. The 20 bytes lie inline, so a look-up
/// allocates nothing.
package struct TopicHash: Hashable, Sendable {
    /// Bytes of a hash.
    package static let count = 20

    /// What no topic hashes to, as far as anyone knows.
    static let zero = TopicHash(words: (0, 0, 0, 0, 0))

    private let words: (UInt32, UInt32, UInt32, UInt32, UInt32)

    private init(words: (UInt32, UInt32, UInt32, UInt32, UInt32)) { self.words = words }

    /// nil unless there are exactly 20 bytes.
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.count else { return nil }
        func word(_ index: Int) -> UInt32 {
            (4 * index..<4 * index + 4).reduce(0) { $0 << 8 | UInt32(bytes[$1]) }
        }
        words = (word(0), word(1), word(2), word(3), word(4))
    }

    package init?(_ bytes: [UInt8]) { self.init(bytes.span) }

    /// The 20 bytes as they stand on the wire.
    package var bytes: [UInt8] { [UInt8](capacity: Self.count) { append(to: &$0) } }

    func append(to output: inout OutputSpan<UInt8>) {
        output.append(bigEndian: words.0)
        output.append(bigEndian: words.1)
        output.append(bigEndian: words.2)
        output.append(bigEndian: words.3)
        output.append(bigEndian: words.4)
    }

    package static func == (a: TopicHash, b: TopicHash) -> Bool { a.words == b.words }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(UInt64(words.0) << 32 | UInt64(words.1))
        hasher.combine(UInt64(words.2) << 32 | UInt64(words.3))
        hasher.combine(words.4)
    }
}
