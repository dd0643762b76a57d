/// Finds the heads of frames in a peer's bytes, however they are cut. nghttp2 tells nothing of the frames it skips:
/// unknown ones, and what comes on closed streams.
struct FrameHeads {
    private static let size = 9

    /// Bytes up to the next head; at first those of the preface.
    private var skip = 24
    /// The beginning of a head whose rest is still to come.
    private var part: InlineArray<9, UInt8> = .init(repeating: 0)
    private var partCount = 0

    /// Hands over type, flags and length of each frame that begins here. Stops at the first that is not `admitted`, and
    /// returns the place before its head; else the end.
    mutating func walk(_ bytes: Span<UInt8>, _ admit: (_ type: UInt8, _ flags: UInt8, _ length: Int) -> Bool) -> Int {
        var place = min(skip, bytes.count)
        skip -= place
        while place < bytes.count {
            let start = place
            if partCount == 0, bytes.count - place >= Self.size {
                for index in 0..<5 { part[index] = bytes[place + index] }
                place += Self.size
            } else {
                let count = min(Self.size - partCount, bytes.count - place)
                for index in 0..<count { part[partCount + index] = bytes[place + index] }
                (partCount, place) = (partCount + count, place + count)
                guard partCount == Self.size else { break }
                partCount = 0
            }
            let length = Int(part[0]) << 16 | Int(part[1]) << 8 | Int(part[2])
            guard admit(part[3], part[4], length) else { return start }
            let step = min(length, bytes.count - place)
            (place, skip) = (place + step, length - step)
        }
        return bytes.count
    }
}
