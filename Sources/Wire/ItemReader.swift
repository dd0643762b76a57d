import PushCore

/// One item of a frame: its id, and where in the frame's body its value lies.
struct Item {
    let id: UInt8
    let value: Range<Int>
}

/// Walks the items of one frame's body. It holds a position only; the bytes are borrowed anew for each step.
struct ItemReader {
    static let headSize = 3

    private var position = 0

    /// The next item, or nil at the end of the body. Throws when an item runs past the end.
    mutating func next(in body: Span<UInt8>) throws(Malformed) -> Item? {
        guard position < body.count else { return nil }
        guard body.count - position >= Self.headSize else { throw Malformed() }
        let id = body[position]
        let count = Int(body[position + 1]) << 8 | Int(body[position + 2])
        let start = position + Self.headSize
        guard body.count - start >= count else { throw Malformed() }
        position = start + count
        return Item(id: id, value: start..<position)
    }

    /// As `next(in:)`, but takes a bare length of `count` for one more value of the item before and gives it the id 0,
    /// which no item has. One client in the field lists its topics so: id, length, value, length, value, ...
    mutating func next(in body: Span<UInt8>, continuing count: Int) throws(Malformed) -> Item? {
        let start = position + 2
        guard body.count - start >= count, Int(body[position]) << 8 | Int(body[position + 1]) == count else {
            return try next(in: body)
        }
        position = start + count
        return Item(id: 0, value: start..<position)
    }
}

extension Span<UInt8> {
    /// A copy of an item's value.
    func bytes(_ item: Item) -> [UInt8] {
        let value = extracting(item.value)
        // Appending nothing to an empty array writes to the one empty array that all threads share.
        guard !value.isEmpty else { return [] }
        var copy: [UInt8] = []
        // Appended to an empty array, for the initializer with a capacity is not specialized and costs 500 instructions
        // more; over the span's own indices, for over others the compiler copies single bytes.
        copy.append(addingCapacity: value.count) { output in
            for index in value.indices { output.append(value[index]) }
        }
        return copy
    }

    /// The value as a big-endian number that must have exactly the width of `Number`.
    func number<Number: FixedWidthInteger & UnsignedInteger>(_ item: Item) throws(Malformed) -> Number {
        guard item.value.count == Number.bitWidth / 8 else { throw Malformed() }
        var number: UInt64 = 0
        for index in item.value { number = number << 8 | UInt64(self[index]) }
        return Number(truncatingIfNeeded: number)
    }

    /// The value as a topic's hash: exactly 20 bytes.
    func topicHash(_ item: Item) throws(Malformed) -> TopicHash {
        guard let hash = TopicHash(extracting(item.value)) else { throw Malformed() }
        return hash
    }

    /// The value as the id of a push: exactly 16 bytes.
    func uniqueID(_ item: Item) throws(Malformed) -> UniqueID {
        guard let id = UniqueID(extracting(item.value)) else { throw Malformed() }
        return id
    }

    /// The value as text, which must be valid UTF-8.
    func text(_ item: Item) throws(Malformed) -> String {
        do {
            return String(copying: try UTF8Span(validating: extracting(item.value)))
        } catch {
            throw Malformed()
        }
    }
}
