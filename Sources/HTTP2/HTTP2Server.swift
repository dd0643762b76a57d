import CNGHTTP2

/// The server side of one HTTP/2 connection: bytes in, requests out; answers in, bytes out. It owns no socket.
package final class HTTP2Server {
    private let session: OpaquePointer
    /// nghttp2 borrows them; this object owns both and frees the session first.
    private let cell: Cell<HTTP2Streams>
    /// What our next SETTINGS say is the stream limit; nghttp2 is told `streamCeiling`.
    private var announcedStreams: Int
    /// GOAWAY frames that nghttp2 cannot make, for the next `collect`.
    private var notices: [UInt8] = []
    /// Streams answered before they were complete; reset once the answer is out.
    private var refusing: [Int32] = []
    /// nghttp2 could not go on sending.
    private var isBroken = false

    /// Our SETTINGS are in the first `collect`. Fails only for want of memory.
    package init(fields: HTTP2Fields, limits: HTTP2Limits) throws(HTTP2Error) {
        let cell = Cell(HTTP2Streams(fields: fields, limits: limits))
        session = try makeSession(cell.pointer)
        self.cell = cell
        announcedStreams = limits.announcedStreams
        try check(submitSettings(session, firstSettings(limits)))
        let window = Int32(clamping: limits.bufferedBodyBytes)
        try check(nghttp2_session_set_local_window_size(session, 0, 0, window))
    }

    deinit { nghttp2_session_del(session) }

    private var streams: HTTP2Streams {
        _read { yield cell.pointer.pointee }
        _modify { yield &cell.pointer.pointee }
    }

    /// Feeds bytes read from the peer. After a throw `collect` yields the GOAWAY; then the connection is closed.
    package func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
        if let failure = streams.failure { throw failure }
        guard !bytes.isEmpty else { return }
        let result = bytes.withUnsafeBufferPointer { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
        if result < 0 { streams.fail(HTTP2Error(library: Int32(result))) }
        guard let failure = streams.failure else { return }
        nghttp2_session_terminate_session(session, failure.code.rawValue)
        throw failure
    }

    /// Appends the requests that became ready since the last time, in order: complete, or with too large a body.
    package func takeRequests(into list: inout [HTTP2Request]) {
        streams.take(into: &list, session)
    }

    /// Answers with HEADERS and, if there is a body, exactly one DATA frame. Does nothing if the stream is gone.
    package func respond(to request: HTTP2Request, _ answer: HTTP2Answer) {
        guard streams.answer(request) else { return }
        if answer.body.isEmpty {
            _ = answer.withPairs { nghttp2_submit_response(session, request.stream, $0.baseAddress, $0.count, nil) }
        } else {
            precondition(answer.body.count <= 16384, "a body must fit in one frame")
            streams.hold(answer.body, for: request)
            var body = HTTP2Callbacks.body(of: request)
            _ = answer.withPairs { nghttp2_submit_response(session, request.stream, $0.baseAddress, $0.count, &body) }
        }
    }

    /// After the answer to an incomplete request: tells the peer, without blame, to send no more of it.
    package func refuseRest(of request: HTTP2Request) {
        guard !request.isComplete, !request.isClosed else { return }
        refusing.append(request.stream)
    }

    /// The owner is done with the request and must not touch it again. Its body no longer burdens the window.
    package func release(_ request: HTTP2Request) {
        streams.release(request, session)
    }

    /// Announces the full stream limit, once.
    package func raiseStreamLimit() {
        guard announcedStreams < streams.limits.enforcedStreams else { return }
        announcedStreams = streams.limits.enforcedStreams
        submitSettings(session, [setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streamCeiling)])
    }

    /// Sends GOAWAY with `reason` as debug data. Without a last stream it is a notice: streams are still served.
    package func goAway(lastStream: Int32?, code: HTTP2Code, reason: [UInt8]) {
        guard let lastStream else {
            // nghttp2's notice carries no debug data, and its GOAWAY with any number ends the serving of new streams.
            notices += goAwayFrame(lastStream: .max, code: code, reason: reason)
            return
        }
        streams.isLeaving = true
        nghttp2_submit_goaway(session, 0, lastStream, code.rawValue, reason, reason.count)
    }

    /// Ends one stream without an answer.
    package func reset(_ stream: Int32, _ code: HTTP2Code) {
        streams.request(session, stream)?.record.isSettled = true
        nghttp2_submit_rst_stream(session, 0, stream, code.rawValue)
    }

    /// Appends everything to be sent now.
    package func collect(into output: inout [UInt8]) {
        streams.resume(session)
        send(into: &output)
        if !refusing.isEmpty {
            resetRefused()
            send(into: &output)
        }
        output += notices
        notices.removeAll(keepingCapacity: true)
    }

    package var openStreams: Int { streams.openCount }

    /// The highest stream that was accepted: what the last GOAWAY should say.
    package var lastStream: Int32 { streams.lastStream }

    /// Nothing more will be read or written; the connection can be closed.
    package var isFinished: Bool {
        guard !isBroken else { return true }
        return notices.isEmpty && nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// Answers whose body is not sent; after `collect`, those that wait for room in the peer's window. aioapns never
    /// gives any back, and its errors pile up here until the owner ends the connection.
    package var blockedAnswers: Int { streams.heldAnswers }

    /// The peer no longer waits for the answer.
    package func isCancelled(_ request: HTTP2Request) -> Bool { request.isClosed }

    /// Frees the requests kept for use again: for a connection that fell quiet.
    package func trim() { streams.trim() }

    private func send(into output: inout [UInt8]) {
        while true {
            var chunk: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &chunk)
            guard count > 0, let chunk else {
                isBroken = count < 0
                return
            }
            let frame = UnsafeBufferPointer(start: chunk, count: count)
            output.append(contentsOf: frame)
            if frame[3] == FrameType.settings { announce(in: &output, frameSize: count) }
            if frame[3] == FrameType.goAway { noteGoAway(frame) }
        }
    }

    /// nghttp2 ends a connection by itself when the peer breaks the protocol; its GOAWAY tells.
    private func noteGoAway(_ frame: UnsafeBufferPointer<UInt8>) {
        let code = frame[13..<17].reduce(0) { $0 << 8 | UInt32($1) }
        if code != 0, !streams.isLeaving { streams.fail(.broken(HTTP2Code(rawValue: code))) }
    }

    /// Writes the announced stream limit over the one nghttp2 was told.
    private func announce(in output: inout [UInt8], frameSize: Int) {
        var entry = output.count - frameSize + 9
        while entry < output.count {
            if output[entry] == 0, output[entry + 1] == UInt8(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue) {
                for index in 0..<4 {
                    output[entry + 2 + index] = UInt8(truncatingIfNeeded: announcedStreams >> (24 - 8 * index))
                }
            }
            entry += 6
        }
    }

    private func resetRefused() {
        refusing.removeAll { stream in
            // 1 once the answer has ended our side of the stream, -1 if the stream is gone.
            let ended = nghttp2_session_get_stream_local_close(session, stream)
            if ended == 1 { nghttp2_submit_rst_stream(session, 0, stream, HTTP2Code.noError.rawValue) }
            return ended != 0
        }
    }
}

/// nghttp2 ends a connection whose peer exceeds an acknowledged limit, so it is told one that no peer can reach; ours
/// refuses single streams.
private let streamCeiling: UInt32 = 1 << 30

private func firstSettings(_ limits: HTTP2Limits) -> [nghttp2_settings_entry] {
    [
        setting(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096),
        setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streamCeiling),
        setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 65535),
        setting(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16384),
        setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(limits.headerListBytes)),
    ]
}

private func setting(_ id: nghttp2_settings_id, _ value: UInt32) -> nghttp2_settings_entry {
    nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: value)
}

@discardableResult
private func submitSettings(_ session: OpaquePointer, _ entries: [nghttp2_settings_entry]) -> Int32 {
    nghttp2_submit_settings(session, 0, entries, entries.count)
}

private func makeSession(_ context: UnsafeMutableRawPointer) throws(HTTP2Error) -> OpaquePointer {
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    var session: OpaquePointer?
    try check(nghttp2_session_callbacks_new(&callbacks))
    defer { nghttp2_session_callbacks_del(callbacks) }
    try check(nghttp2_option_new(&options))
    defer { nghttp2_option_del(options) }
    HTTP2Callbacks.install(on: callbacks)
    // Credit is given when a body was dropped or released, not when it arrived.
    nghttp2_option_set_no_auto_window_update(options, 1)
    // Each value's own grammar answers for its spaces.
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(options, 1)
    // With our ceiling nghttp2 would keep every closed stream.
    nghttp2_option_set_no_closed_streams(options, 1)
    // Ours counts abandoned requests and has no clock of its own.
    nghttp2_option_set_stream_reset_rate_limit(options, UInt64(Int64.max), 1)
    // nghttp2 counts a CONTINUATION again for each read that cuts its header, so its limit is for skipped blocks only.
    nghttp2_option_set_max_continuations(options, 64)
    try check(nghttp2_session_server_new2(&session, callbacks, context, options))
    return session!
}

private func goAwayFrame(lastStream: Int32, code: HTTP2Code, reason: [UInt8]) -> [UInt8] {
    let count = UInt32(8 + reason.count)
    var frame: [UInt8] = [
        UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), FrameType.goAway, 0, 0, 0, 0, 0,
    ]
    for word in [UInt32(lastStream), code.rawValue] {
        for shift in [24, 16, 8, 0] { frame.append(UInt8(truncatingIfNeeded: word >> UInt32(shift))) }
    }
    return frame + reason
}

/// nghttp2 reports failure as a negative number; here it becomes a thrown error, once.
private func check(_ code: Int32) throws(HTTP2Error) {
    guard code >= 0 else { throw HTTP2Error(library: code) }
}
