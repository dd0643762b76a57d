/// A frame is written straight into the array that goes to the socket's TLS: head first, its length filled in last.
extension [UInt8] {
    static let frameHeadSize = 5

    /// Appends one frame; `items` appends its body. `reserving` is how long that body may become, so that the array
    /// grows at most once.
    mutating func appendFrame(_ command: Command, reserving: Int = 0, _ items: (inout [UInt8]) -> Void) {
        let start = beginFrame(command, reserving: reserving)
        items(&self)
        endFrame(start)
    }

    /// Appends a frame's head, its length yet unknown. Returns where the frame begins, for `endFrame`.
    mutating func beginFrame(_ command: Command, reserving: Int) -> Int {
        let start = count
        append(addingCapacity: Self.frameHeadSize + reserving) { output in
            output.append(command.rawValue)
            output.append(bigEndian: UInt32(0))
        }
        return start
    }

    /// Writes the length of the frame that began at `start` and ends here.
    mutating func endFrame(_ start: Int) {
        let length = UInt32(count - start - Self.frameHeadSize)
        self[start + 1] = UInt8(truncatingIfNeeded: length >> 24)
        self[start + 2] = UInt8(truncatingIfNeeded: length >> 16)
        self[start + 3] = UInt8(truncatingIfNeeded: length >> 8)
        self[start + 4] = UInt8(truncatingIfNeeded: length)
    }

    mutating func appendItem(_ id: UInt8, _ value: [UInt8]) {
        appendItemHead(id, count: value.count)
        append(contentsOf: value)
    }

    mutating func appendItem(_ id: UInt8, _ text: String) {
        appendItemHead(id, count: text.utf8.count)
        append(contentsOf: text.utf8)
    }

    mutating func appendItem<Number: FixedWidthInteger & UnsignedInteger>(_ id: UInt8, _ number: Number) {
        append(addingCapacity: ItemReader.headSize + Number.bitWidth / 8) { $0.append(item: id, number) }
    }

    mutating func appendItem(_ id: UInt8, _ topic: TopicHash) {
        append(addingCapacity: ItemReader.headSize + TopicHash.count) { output in
            output.append(id)
            output.append(bigEndian: UInt16(TopicHash.count))
            topic.append(to: &output)
        }
    }

    private mutating func appendItemHead(_ id: UInt8, count: Int) {
        precondition(count <= UInt16.max, "an item holds at most 65535 bytes")
        append(addingCapacity: ItemReader.headSize) { output in
            output.append(id)
            output.append(bigEndian: UInt16(count))
        }
    }
}

extension OutputSpan<UInt8> {
    mutating func append<Number: FixedWidthInteger & UnsignedInteger>(item id: UInt8, _ number: Number) {
        append(id)
        append(bigEndian: UInt16(Number.bitWidth / 8))
        append(bigEndian: number)
    }

    mutating func append<Number: FixedWidthInteger & UnsignedInteger>(bigEndian number: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> Number(shift)))
        }
    }
}
