/// Cuts a byte stream into frames. It holds bytes only while a frame is incomplete, because idle sessions are the mass.
struct FrameBuffer {
    private var bytes: [UInt8] = []
    /// Where in `bytes` the first frame that was not returned begins.
    private var start = 0
    private var failure: WireError?
    /// `bytes` is lent and goes back when no frame is left in it.
    private var isLent = false

    /// Bytes that were not returned in a frame.
    var count: Int { bytes.count - start }

    /// Bytes of memory in use, for tests.
    var capacity: Int { bytes.capacity }

    /// The same in `room`, if nothing waits: an empty array with capacity, so that what is read at once takes no memory
    /// of its own. It must be taken back when no more frames are asked for.
    mutating func append(_ new: Span<UInt8>, lending room: inout [UInt8]) {
        if bytes.capacity == 0, failure == nil {
            swap(&bytes, &room)
            isLent = true
        }
        append(new)
    }

    /// Gives back what was lent; the beginning of a frame is kept.
    mutating func takeBack(_ room: inout [UInt8]) {
        guard isLent else { return }
        isLent = false
        let rest = start < bytes.count ? Array(bytes[start...]) : []
        start = 0
        bytes.removeAll(keepingCapacity: true)
        swap(&bytes, &room)
        bytes = rest
    }

    mutating func append(_ new: Span<UInt8>) {
        // After a failure nothing will be read, so nothing is kept. Appending nothing to an empty array writes to the
        // one empty array that all threads share.
        guard failure == nil, !new.isEmpty else { return }
        bytes.append(addingCapacity: new.count) { output in
            for index in new.indices { output.append(new[index]) }
        }
    }

    /// The next frame, parsed, or nil when more bytes are needed.
    mutating func next<Message>(
        limit: Int,
        _ parse: (UInt8, Span<UInt8>) throws(Malformed) -> Message
    ) throws(WireError) -> Message? {
        if let failure { throw failure }
        let bodyStart = start + [UInt8].frameHeadSize
        guard bytes.count >= bodyStart else {
            release()
            return nil
        }
        let command = bytes[start]
        let length = (start + 1..<bodyStart).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[$1]) }
        guard Int(length) <= limit else { throw fail(.frameTooLong(length)) }
        guard bytes.count - bodyStart >= Int(length) else {
            release()
            return nil
        }
        start = bodyStart + Int(length)
        do {
            return try parse(command, bytes.span.extracting(bodyStart..<start))
        } catch {
            throw fail(.malformed(command: command))
        }
    }

    /// Gives back what the returned frames used: all of it, or all but the beginning of the next frame.
    private mutating func release() {
        guard start > 0, !isLent else { return }
        bytes = start == bytes.count ? [] : Array(bytes[start...])
        start = 0
    }

    private mutating func fail(_ error: WireError) -> WireError {
        bytes.removeAll(keepingCapacity: isLent)
        start = 0
        failure = error
        return error
    }
}
