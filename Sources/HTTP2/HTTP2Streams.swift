import CNGHTTP2

/// The requests of one connection: open ones, those ready to be taken, and idle ones for use again.
///
/// nghttp2's callbacks record here. What they must answer at once (refuse a stream, reset it, return credit) they
/// submit to nghttp2, which sends it later; none of them calls the owner.
struct HTTP2Streams {
    let fields: HTTP2Fields
    let limits: HTTP2Limits
    /// Why the connection cannot go on, once it cannot.
    private(set) var failure: HTTP2Error?
    /// The highest stream that was accepted.
    private(set) var lastStream: Int32 = 0
    /// Streams above the last one of a GOAWAY are closed by us: no fault of the peer.
    var isLeaving = false
    private(set) var isPeerLeaving = false
    /// For the owner's counters.
    var abuse = AbuseCounts()
    private var heads = FrameHeads()
    private var patience: Patience
    /// The peer's SETTINGS have come, with which each connection begins.
    private(set) var hasBegun = false
    /// What time the owner says it is.
    var time: Int64 = 0
    /// When the header block began whose end has not come: until then nothing else may come.
    private(set) var openBlockBegan: Int64?
    /// Something came that may let a waiting answer go.
    private var windowGrew = false

    /// The records of open requests, which nghttp2 borrows as its streams' user data. Each holds its request: so frames
    /// find their record without counting a reference.
    private var open: [UnsafeMutablePointer<RequestRecord>] = []
    private var ready: [HTTP2Request] = []
    private var pool: [HTTP2Request] = []
    /// Room for bytes that was given back early, so that the next request finds it in the processor's cache.
    private var spare: [[UInt8]] = []
    /// Answers whose body nghttp2 has yet to fetch, and those of them that it was told to fetch later.
    private(set) var heldAnswers = 0
    private var deferred: [HTTP2Request] = []
    /// The open request whose header block is being read; blocks do not interleave.
    private var current: UnsafeMutablePointer<RequestRecord>?
    private var isTrailer = false
    private var continuations = 0
    private var abandoned = 0
    private var refused = 0

    init(fields: HTTP2Fields, limits: HTTP2Limits) {
        self.fields = fields
        self.limits = limits
        patience = Patience(limits)
    }

    var openCount: Int { open.count }

    mutating func fail(_ error: HTTP2Error) {
        guard failure == nil else { return }
        failure = error
        if let kind = error.abuse { abuse.add(kind) }
    }

    /// Charges the peer for the frames that begin in these bytes, and returns how many of the bytes may be read: all,
    /// or those before the frame that it has no credit for.
    mutating func account(_ bytes: Span<UInt8>, at second: Int) -> Int {
        var patience = patience
        var openBlockBegan = openBlockBegan
        defer { (self.patience, self.openBlockBegan) = (patience, openBlockBegan) }
        patience.pass(to: second)
        let time = time
        return heads.walk(bytes) { type, flags, length in
            if type == FrameType.headers || type == FrameType.continuation {
                openBlockBegan = flags & FrameFlag.endHeaders == 0 ? openBlockBegan ?? time : nil
            }
            let cost = Patience.cost(type, flags, length: length)
            return cost == 0 || patience.spend(cost)
        }
    }

    mutating func hold(_ body: [UInt8], for request: HTTP2Request) {
        request.record.hold(body)
        heldAnswers += 1
    }

    /// nghttp2 fetches an answer's body; nil if the peer's window is too small, because it must not be split.
    mutating func fetch(_ request: HTTP2Request, into buffer: UnsafeMutablePointer<UInt8>, room: Int) -> Int? {
        guard request.record.answer.count <= room else {
            request.record.isDeferred = true
            deferred.append(request)
            return nil
        }
        heldAnswers -= 1
        return request.record.moveAnswer(to: buffer)
    }

    /// Lets the waiting answers go that fit now.
    mutating func resume(_ session: OpaquePointer) {
        guard windowGrew else { return }
        windowGrew = false
        guard !deferred.isEmpty else { return }
        let room = Int(nghttp2_session_get_remote_window_size(session))
        deferred.removeAll { request in
            let streamRoom = nghttp2_session_get_stream_remote_window_size(session, request.stream)
            guard request.record.answer.count <= min(room, Int(streamRoom)) else { return false }
            request.record.isDeferred = false
            nghttp2_session_resume_data(session, request.stream)
            return true
        }
    }

    mutating func take(into list: inout [HTTP2Request], _ session: OpaquePointer) {
        for request in ready {
            if request.record.isClosed {
                recycle(request, session)
            } else {
                request.record.isTaken = true
                list.append(request)
            }
        }
        ready.removeAll(keepingCapacity: true)
    }

    /// Hands out what has not come to its end, of what began until `moment`, for an owner that answers it nevertheless.
    mutating func takeIncomplete(into list: inout [HTTP2Request], begunUntil moment: Int64) {
        for record in open where !record.pointee.isReady && record.pointee.begunAt <= moment {
            record.pointee.isReady = true
            record.pointee.isTaken = true
            if let request = record.pointee.request { list.append(request) }
        }
    }

    /// The session is gone, and with it what it borrowed.
    mutating func closeAll() {
        for record in open { record.pointee.request = nil }
        open = []
    }

    /// Whether the request may still be answered; each answer makes up for an abandoned or a refused stream.
    mutating func answer(_ request: HTTP2Request) -> Bool {
        guard !request.record.isClosed, !request.record.isSettled else { return false }
        request.record.isSettled = true
        patience.answered()
        if abandoned > 0 { abandoned -= 1 }
        if refused > 0 { refused -= 1 }
        return true
    }

    mutating func release(_ request: HTTP2Request, _ session: OpaquePointer) {
        precondition(request.record.isTaken && !request.record.isReleased, "a request is released once")
        request.record.isReleased = true
        if request.record.isClosed { return recycle(request, session) }
        credit(request, session)
        // The peer may let the answer wait for as long as it likes; a thousand streams must not hold their requests.
        if !request.record.answer.isEmpty, !request.record.bytes.isEmpty { reclaim(request) }
    }

    mutating func reclaim(_ request: HTTP2Request) {
        let room = request.record.takeBytes()
        if room.capacity <= RequestRecord.keptCapacity, spare.count < limits.spareRooms { spare.append(room) }
    }

    private mutating func recycle(_ request: HTTP2Request, _ session: OpaquePointer) {
        credit(request, session)
        request.record.shrink()
        if pool.count < limits.enforcedStreams { pool.append(request) }
    }

    private func credit(_ request: HTTP2Request, _ session: OpaquePointer) {
        let count = request.record.takeBurden()
        if count > 0 { nghttp2_session_consume_connection(session, count) }
    }
}

// What the callbacks record.
extension HTTP2Streams {
    mutating func beginFrame(_ session: OpaquePointer, _ head: nghttp2_frame_hd) -> Int32 {
        if head.type == FrameType.headers {
            continuations = 0
            return admitHeaders(session, head.stream_id) ? 0 : callbackFailure
        }
        guard head.type == FrameType.continuation else { return 0 }
        continuations += 1
        guard continuations > limits.continuations else { return 0 }
        fail(.tooManyContinuations)
        return callbackFailure
    }

    /// Charges for headers on a closed stream, which nghttp2 decodes and drops: they may be trailers that crossed our
    /// reset.
    private mutating func admitHeaders(_ session: OpaquePointer, _ stream: Int32) -> Bool {
        if stream > lastStream || record(session, stream) != nil || patience.spend(1) { return true }
        fail(.tooManyFrames)
        return false
    }

    mutating func beginHeaders(_ session: OpaquePointer, _ stream: Int32, isTrailer: Bool) -> Int32 {
        guard failure == nil else { return callbackFailure }
        current = nil
        self.isTrailer = isTrailer
        if isTrailer {
            current = record(session, stream)
            return 0
        }
        guard open.count < limits.enforcedStreams else { return refuse(session, stream) }
        let request = pool.popLast() ?? HTTP2Request()
        if request.record.bytes.capacity == 0, let room = spare.popLast() { request.record.lend(room) }
        request.record.begin(stream: stream, place: open.count)
        request.record.begunAt = time
        request.record.request = request
        open.append(request.address)
        current = request.address
        lastStream = stream
        return nghttp2_session_set_stream_user_data(session, stream, request.address)
    }

    private mutating func refuse(_ session: OpaquePointer, _ stream: Int32) -> Int32 {
        refused += 1
        guard refused <= limits.refusedStreams else {
            fail(.tooManyRefusedStreams)
            return callbackFailure
        }
        abuse.add(.refusedStream)
        return reset(session, stream, .refusedStream)
    }

    mutating func header(
        _ session: OpaquePointer,
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) -> Int32 {
        guard let current else { return callbackFailure }
        guard current.pointee.countHeader(name.count + value.count, limit: limits.headerListBytes) else {
            return refuseList(session, current)
        }
        let field = fields.index(of: name)
        guard current.pointee.rules.admit(name, value, isWanted: field != nil, isTrailer: isTrailer) else {
            return blame(session, current.pointee.stream, .malformedRequest)
        }
        if isTrailer { return 0 }
        if let field {
            current.pointee.addHeader(field, value)
        } else if name.starts(with: apnsPrefix) {
            current.pointee.addUnknown(name)
        }
        return 0
    }

    /// Resets the stream of a header list that is too large. nghttp2 goes on telling of its fields, to be counted only.
    private mutating func refuseList(_ session: OpaquePointer, _ record: UnsafeMutablePointer<RequestRecord>) -> Int32 {
        guard record.pointee.headerListBytes <= limits.headerBombBytes else {
            fail(.headerBomb)
            return callbackFailure
        }
        if record.pointee.isBroken { return 0 }
        record.pointee.isBroken = true
        let result = blame(session, record.pointee.stream, .headerList)
        return result == skipStream ? 0 : result
    }

    /// Resets a stream whose headers are not those of a request.
    private mutating func blame(_ session: OpaquePointer, _ stream: Int32, _ kind: HTTP2Abuse) -> Int32 {
        guard charge(kind) else { return callbackFailure }
        return reset(session, stream, kind == .headerList ? .enhanceYourCalm : .protocolError)
    }

    /// Counts a broken request; false if it was one too many.
    private mutating func charge(_ kind: HTTP2Abuse) -> Bool {
        abuse.add(kind)
        guard !patience.spend(1) else { return true }
        fail(.tooManyFrames)
        return false
    }

    /// Resets a stream from within its header block; nghttp2 then skips the rest of the block.
    func reset(_ session: OpaquePointer, _ stream: Int32, _ code: HTTP2Code) -> Int32 {
        let result = nghttp2_submit_rst_stream(session, 0, stream, code.rawValue)
        return result == 0 ? skipStream : result
    }

    mutating func data(_ session: OpaquePointer, _ stream: Int32, _ chunk: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard let record = record(session, stream) else {
            return nghttp2_session_consume(session, stream, chunk.count)
        }
        let kept = record.pointee.addBody(chunk, limit: limits.bodyBytes)
        if !record.pointee.rules.allows(record.pointee.bodyCount, isWhole: false) { breakOff(session, record) }
        if record.pointee.isBodyTooLarge { makeReady(record) }
        guard kept < chunk.count else { return 0 }
        return nghttp2_session_consume(session, stream, chunk.count - kept)
    }

    mutating func frame(_ session: OpaquePointer, _ head: nghttp2_frame_hd) {
        let isEnd = head.flags & FrameFlag.endStream != 0
        switch head.type {
        case FrameType.headers:
            judgeHeaders(session, head.stream_id, isEnd: isEnd)
            if isEnd { endStream(session, head.stream_id) }
        case FrameType.data:
            if isEnd { endStream(session, head.stream_id) }
        case FrameType.reset: peerReset(session, head.stream_id)
        case FrameType.settings, FrameType.windowUpdate:
            windowGrew = true
            if head.type == FrameType.settings { hasBegun = true }
        case FrameType.goAway: isPeerLeaving = true
        default: break
        }
    }

    /// A header block is whole: a request's must be one, and trailers end it.
    private mutating func judgeHeaders(_ session: OpaquePointer, _ stream: Int32, isEnd: Bool) {
        guard let record = record(session, stream) else { return }
        if isTrailer ? !isEnd : !record.pointee.rules.isRequest { breakOff(session, record) }
    }

    private mutating func endStream(_ session: OpaquePointer, _ stream: Int32) {
        guard let record = record(session, stream) else { return }
        if !record.pointee.rules.allows(record.pointee.bodyCount, isWhole: true) { breakOff(session, record) }
        record.pointee.isComplete = true
        makeReady(record)
    }

    /// Resets a stream that carries no request (RFC 9113 8.1.1), unless its owner has heard of it.
    private mutating func breakOff(_ session: OpaquePointer, _ record: UnsafeMutablePointer<RequestRecord>) {
        guard !record.pointee.isReady, !record.pointee.isBroken else { return }
        record.pointee.isBroken = true
        guard charge(.malformedRequest) else { return }
        let code = HTTP2Code.protocolError.rawValue
        let result = nghttp2_submit_rst_stream(session, 0, record.pointee.stream, code)
        if result < 0 { fail(HTTP2Error(library: result)) }
    }

    private mutating func makeReady(_ record: UnsafeMutablePointer<RequestRecord>) {
        guard !record.pointee.isReady, !record.pointee.isBroken, let request = record.pointee.request else { return }
        record.pointee.isReady = true
        ready.append(request)
    }

    /// The peer resets a stream; `close` follows.
    private mutating func peerReset(_ session: OpaquePointer, _ stream: Int32) {
        guard let record = record(session, stream) else { return }
        abandon(record)
    }

    mutating func close(_ session: OpaquePointer, _ stream: Int32) {
        guard let record = record(session, stream), let request = record.pointee.request.take() else { return }
        // A peer can also make us reset a stream whose push is already on its way (CVE-2025-8671).
        if record.pointee.isReady { abandon(record) }
        let place = record.pointee.place
        open[place] = open[open.count - 1]
        open[place].pointee.place = place
        open.removeLast()
        if current == record { current = nil }
        record.pointee.isClosed = true
        if record.pointee.isDeferred { deferred.removeAll { $0 === request } }
        if !record.pointee.answer.isEmpty { heldAnswers -= 1 }
        if record.pointee.isReleased || !record.pointee.isReady { recycle(request, session) }
    }

    private mutating func abandon(_ record: UnsafeMutablePointer<RequestRecord>) {
        guard !record.pointee.isSettled, !isLeaving else { return }
        record.pointee.isSettled = true
        guard time - record.pointee.begunAt < limits.abandonmentAgeNanoseconds else { return }
        abandoned += 1
        if abandoned > limits.abandonedStreams { fail(.tooManyAbandonedStreams) }
    }

    /// The record of a stream's open request. Frames of one stream mostly come together, so the last one is asked
    /// first: nghttp2 looks its streams up in a table.
    private func record(_ session: OpaquePointer, _ stream: Int32) -> UnsafeMutablePointer<RequestRecord>? {
        if let last = open.last, last.pointee.stream == stream { return last }
        return nghttp2_session_get_stream_user_data(session, stream)?.assumingMemoryBound(to: RequestRecord.self)
    }
}

/// Names that a header of ours could have.
private let apnsPrefix = Array("apns-".utf8)
