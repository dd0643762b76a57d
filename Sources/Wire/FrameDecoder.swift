/// What a device sends: a byte stream, cut anywhere, to messages. Owns no memory while no partial frame waits.
package struct FrameDecoder {
    /// The longest body a frame may have, looked at when its head is complete.
    package var frameLimit: Int
    private var buffer = FrameBuffer()

    package init(frameLimit: Int) { self.frameLimit = frameLimit }

    /// Takes bytes that came.
    package mutating func append(_ bytes: Span<UInt8>) { buffer.append(bytes) }

    /// The same in `room`, an empty array with capacity, until `takeBack`: then a read that ends with a frame takes no
    /// memory of its own.
    package mutating func append(_ bytes: Span<UInt8>, lending room: inout [UInt8]) {
        buffer.append(bytes, lending: &room)
    }

    /// Gives back the room that was lent, after the last call of `next`; the beginning of a frame is kept.
    package mutating func takeBack(_ room: inout [UInt8]) { buffer.takeBack(&room) }

    /// Bytes that came and were not returned in a frame.
    package var bufferedCount: Int { buffer.count }

    /// The next message, or nil when more bytes are needed. Once it throws it throws for ever.
    package mutating func next() throws(WireError) -> DeviceMessage? {
        try buffer.next(limit: frameLimit) { command, body throws(Malformed) in
            try DeviceMessage(command: command, body: body)
        }
    }
}

/// What a server sends, for our own client: the other direction of `FrameDecoder`.
package struct ServerFrameDecoder {
    /// The longest body a frame may have, looked at when its head is complete.
    package var frameLimit: Int
    private var buffer = FrameBuffer()

    package init(frameLimit: Int) { self.frameLimit = frameLimit }

    /// Takes bytes that came.
    package mutating func append(_ bytes: Span<UInt8>) { buffer.append(bytes) }

    /// The next message, or nil when more bytes are needed. Once it throws it throws for ever.
    package mutating func next() throws(WireError) -> ServerMessage? {
        try buffer.next(limit: frameLimit) { command, body throws(Malformed) in
            try ServerMessage(command: command, body: body)
        }
    }
}
