import CNGHTTP2

/// The server side of one HTTP/2 connection: bytes in, requests out; answers in, bytes out. It owns no socket.
package final class HTTP2Server {
    private let session: OpaquePointer
    /// nghttp2 borrows them; this object owns both and frees the session first.
    private let cell: Cell<HTTP2Streams>
    private let memory: HTTP2Memory
    /// The stream limits that our SETTINGS still to be sent will announce; nghttp2 was told another.
    private var announcements: [Int]
    private var announcedStreams: Int
    /// GOAWAY frames that nghttp2 cannot make, for the next `collect`.
    private var notices: [UInt8] = []
    /// Streams answered before they were complete; reset once the answer is out.
    private var refusing: [Int32] = []
    /// nghttp2 could not go on sending.
    private var isBroken = false

    /// Our SETTINGS are in the first `collect`. Fails only for want of memory.
    package init(
        fields: HTTP2Fields,
        limits: HTTP2Limits,
        memory: HTTP2Memory = HTTP2Memory()
    ) throws(HTTP2Error) {
        let cell = Cell(HTTP2Streams(fields: fields, limits: limits))
        session = try HTTP2Setup.makeSession(cell.pointer, memory)
        self.memory = memory
        self.cell = cell
        announcedStreams = limits.announcedStreams
        announcements = [limits.announcedStreams]
        try HTTP2Setup.submitSettings(session, limits)
    }

    deinit {
        nghttp2_session_del(session)
        streams.closeAll()
    }

    private var streams: HTTP2Streams {
        _read { yield cell.pointer.pointee }
        _modify { yield &cell.pointer.pointee }
    }

    /// Feeds bytes read from the peer; `second` is the time by any clock, for what a peer may do in a time. After a
    /// throw `collect` yields the GOAWAY; then the connection is closed.
    package func receive(_ bytes: Span<UInt8>, at second: Int = 0) throws(HTTP2Error) {
        if let failure = streams.failure { throw failure }
        let count = streams.account(bytes, at: second)
        if count > 0 {
            let result = bytes.withUnsafeBufferPointer { nghttp2_session_mem_recv(session, $0.baseAddress, count) }
            if result < 0 { streams.fail(HTTP2Error(library: Int32(result))) }
        }
        if count < bytes.count { streams.fail(.tooManyFrames) }
        guard let failure = streams.failure else { return }
        terminate(failure)
        throw failure
    }

    /// Says why the connection ends; nghttp2 says nothing twice.
    private func terminate(_ failure: HTTP2Error) {
        nghttp2_session_terminate_session(session, failure.code.rawValue)
    }

    /// Appends the requests that became ready since the last time, in order: complete, or with too large a body.
    package func takeRequests(into list: inout [HTTP2Request]) {
        streams.take(into: &list, session)
    }

    /// Appends the requests that have not come to their end: for an owner that answers everything before it leaves, or
    /// only what began until `moment`.
    package func takeIncomplete(into list: inout [HTTP2Request], begunUntil moment: Int64 = .max) {
        streams.takeIncomplete(into: &list, begunUntil: moment)
    }

    /// What time it is, on whatever clock the owner keeps to; requests remember when they began.
    package var time: Int64 {
        get { streams.time }
        set { streams.time = newValue }
    }

    /// When a header block began, by the owner's clock, whose CONTINUATION is still to come; nil if none is open.
    package var openBlockBegan: Int64? { streams.openBlockBegan }

    /// The peer has sent its SETTINGS, so it speaks HTTP/2.
    package var hasBegun: Bool { streams.hasBegun }

    /// Answers with HEADERS and, if there is a body, exactly one DATA frame. Does nothing if the stream is gone.
    package func respond(to request: HTTP2Request, _ answer: HTTP2Answer) {
        precondition(answer.body.count <= 16384, "a body must fit in one frame")
        guard streams.answer(request) else { return }
        if answer.body.isEmpty {
            submit(answer, nil, to: request.stream)
        } else {
            streams.hold(answer.body, for: request)
            var body = HTTP2Callbacks.body(of: request)
            submit(answer, &body, to: request.stream)
        }
    }

    private func submit(_ answer: HTTP2Answer, _ body: UnsafePointer<nghttp2_data_provider>?, to stream: Int32) {
        let headers = answer.headers
        let result = nghttp2_submit_response(session, stream, headers.baseAddress, headers.count, body)
        if result < 0 { streams.fail(HTTP2Error(library: result)) }
    }

    /// After the answer to an incomplete request: tells the peer, without blame, to send no more of it.
    package func refuseRest(of request: HTTP2Request) {
        guard !request.isComplete, !request.isClosed else { return }
        refusing.append(request.stream)
    }

    /// The owner has all it needs of the request's bytes: they are gone, and the answer may yet take its time.
    package func reclaimBytes(of request: HTTP2Request) { streams.reclaim(request) }

    /// The owner is done with the request and must not touch it again. Its body no longer burdens the window.
    package func release(_ request: HTTP2Request) {
        streams.release(request, session)
    }

    /// Announces the full stream limit, once.
    package func raiseStreamLimit() {
        guard announcedStreams < streams.limits.enforcedStreams else { return }
        announcedStreams = streams.limits.enforcedStreams
        announcements.append(announcedStreams)
        HTTP2Setup.submitStreamLimit(session)
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

    /// Appends everything to be sent now.
    package func collect(into output: inout [UInt8]) {
        streams.resume(session)
        send(into: &output)
        if !refusing.isEmpty {
            resetRefused()
            send(into: &output)
        }
        // Streams also close while we send, and one of them may be one too many.
        if let failure = streams.failure {
            terminate(failure)
            send(into: &output)
        }
        output += notices
        notices.removeAll(keepingCapacity: true)
    }

    /// Hands over what the peer was cut off for since the last time, with its count; a `collect` should come before.
    package func takeAbuse(_ onEach: (HTTP2Abuse, Int) -> Void) { streams.abuse.take(onEach) }

    /// Streams that are open.
    package var openStreams: Int { streams.openCount }

    /// The highest stream that was accepted: what the last GOAWAY should say.
    package var lastStream: Int32 { streams.lastStream }

    /// Nothing more will be read or written; the connection can be closed.
    package var isFinished: Bool {
        guard !isBroken else { return true }
        return notices.isEmpty && nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// The peer sent GOAWAY. Once no stream is open the connection is finished, and what may follow is not read.
    package var isPeerLeaving: Bool { streams.isPeerLeaving }

    /// Answers whose body is not sent; after `collect`, those that wait for room in the peer's window. aioapns never
    /// gives any back, and its errors pile up here until the owner ends the connection.
    package var blockedAnswers: Int { streams.heldAnswers }

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
            if frame[3] == FrameType.settings, frame[4] & FrameFlag.acknowledge == 0 {
                announce(announcements.removeFirst(), in: &output, frameSize: count)
            }
            if frame[3] == FrameType.goAway {
                noteGoAway(frame)
                dropRemark(in: &output, frameSize: count)
            }
        }
    }

    /// nghttp2 ends a connection by itself when the peer breaks the protocol; its GOAWAY tells.
    private func noteGoAway(_ frame: UnsafeBufferPointer<UInt8>) {
        let code = frame[13..<17].reduce(0) { $0 << 8 | UInt32($1) }
        if code != 0, !streams.isLeaving { streams.fail(.broken(HTTP2Code(rawValue: code))) }
    }

    /// Writes a stream limit over the one nghttp2 was told.
    private func announce(_ limit: Int, in output: inout [UInt8], frameSize: Int) {
        var entry = output.count - frameSize + 9
        while entry < output.count {
            if output[entry] == 0, output[entry + 1] == UInt8(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue) {
                for index in 0..<4 {
                    output[entry + 2 + index] = UInt8(truncatingIfNeeded: limit >> (24 - 8 * index))
                }
            }
            entry += 6
        }
    }

    /// Cuts nghttp2's own words off a GOAWAY: clients parse debug data as JSON, so it is ours or empty.
    private func dropRemark(in output: inout [UInt8], frameSize: Int) {
        let start = output.count - frameSize
        let debugData = start + 17
        guard frameSize > 17, output[debugData] != UInt8(ascii: "{") else { return }
        output.removeLast(frameSize - 17)
        (output[start], output[start + 1], output[start + 2]) = (0, 0, 8)
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
