import CMicroHTTPD

/// The body of a streamed answer: hands on what its stream gives, and a comment while that is nothing.
final class EventBody {
    private let stream: any AdminStream
    private var pending: ArraySlice<UInt8> = []

    init(_ stream: any AdminStream) { self.stream = stream }

    deinit { stream.cancel() }

    /// A comment in server-sent events: it shows either side that the other is still there.
    private static let keepAlive = Array(":\n\n".utf8)

    /// The answer, which owns this body until libmicrohttpd is done with it; nil if memory is short.
    func response() -> OpaquePointer? {
        let context = Unmanaged.passRetained(self)
        let response = MHD_create_response_from_callback(
            UInt64.max,
            16 << 10,
            { context, _, buffer, capacity in
                guard let context, let buffer else { return CMicroHTTPD_endOfStream() }
                let body = Unmanaged<EventBody>.fromOpaque(context).takeUnretainedValue()
                return body.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
            },
            context.toOpaque(),
            { context in
                guard let context else { return }
                Unmanaged<EventBody>.fromOpaque(context).release()
            }
        )
        if response == nil { context.release() }
        return response
    }

    /// Never 0, on which libmicrohttpd would ask again at once and for ever.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if pending.isEmpty {
            guard let events = stream.next() else { return CMicroHTTPD_endOfStream() }
            pending = events.isEmpty ? Self.keepAlive[...] : events[...]
        }
        let part = pending.prefix(buffer.count)
        buffer.copyBytes(from: part)
        pending = pending.dropFirst(part.count)
        return part.count
    }
}
