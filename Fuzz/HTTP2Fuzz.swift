import HTTP2

/// A connection means the same however its bytes are cut, and keeps its bounds. The first byte says how long the pieces
/// are, the second whether a good preface goes before the rest, which comes in two turns.
func fuzzHTTP2(_ input: [UInt8]) {
    guard input.count > 2 else { return }
    let hello = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
    let bytes = (input[1] & 1 == 0 ? hello : []) + input[2...]
    let turns = [Array(bytes.prefix(bytes.count / 2)), Array(bytes.dropFirst(bytes.count / 2))]

    let whole = outcome(of: turns, cut: .max)
    let cut = outcome(of: turns, cut: 1 + Int(input[0]))
    // nghttp2 counts a CONTINUATION of a skipped block again for each piece of its header.
    guard whole.error != .tooManyContinuations, cut.error != .tooManyContinuations else { return }
    // After the peer's GOAWAY nghttp2 reads what is left of a piece, but no further piece.
    guard !whole.isPeerLeaving else { return }
    precondition(whole == cut, "the cut changes the result")
}

/// What came of a connection.
private struct Outcome: Equatable {
    var requests: [Request] = []
    var frames: [[UInt8]] = []
    var error: HTTP2Error?
    var isFinished = false
    var isPeerLeaving = false
    var lastStream: Int32 = 0
}

private struct Request: Equatable {
    let stream: Int32
    let bytes: [UInt8]
    let bodyCount: Int
    let ranges: [Range<Int>?]
    let repeatedFields: UInt64
    let flags: [Bool]
}

private let fields = HTTP2Fields([":method", ":path", "authorization", "apns-topic", "apns-id"])

private func outcome(of turns: [[UInt8]], cut: Int) -> Outcome {
    var limits = HTTP2Limits()
    limits.headerListBytes = 1000
    limits.bodyBytes = 50
    limits.bufferedBodyBytes = 70_000
    limits.enforcedStreams = 4
    guard let server = try? HTTP2Server(fields: fields, limits: limits) else { fatalError("out of memory") }
    var outcome = Outcome()
    var waiting: [HTTP2Request] = []
    for bytes in turns where outcome.error == nil {
        outcome.error = feed(bytes, to: server, cut: cut)
        var taken: [HTTP2Request] = []
        server.takeRequests(into: &taken)
        outcome.requests += taken.map { record($0, limits) }
        precondition(server.openStreams <= limits.enforcedStreams, "too many streams")
        // Half of them are answered a turn late, when their streams may be gone.
        for request in waiting { answer(request, server) }
        for request in taken where request.stream % 4 == 1 { answer(request, server) }
        waiting = taken.filter { $0.stream % 4 != 1 }
        outcome.frames += frames(of: server)
    }
    for request in waiting { answer(request, server) }
    server.goAway(lastStream: server.lastStream, code: .noError, reason: [])
    outcome.frames += frames(of: server)
    outcome.isFinished = server.isFinished
    outcome.isPeerLeaving = server.isPeerLeaving
    outcome.lastStream = server.lastStream
    return outcome
}

private func feed(_ bytes: [UInt8], to server: HTTP2Server, cut: Int) -> HTTP2Error? {
    var rest = bytes[...]
    do {
        while !rest.isEmpty {
            let piece = rest.prefix(cut)
            try server.receive(piece.span)
            rest = rest.dropFirst(piece.count)
        }
        return nil
    } catch {
        return error
    }
}

private func record(_ request: HTTP2Request, _ limits: HTTP2Limits) -> Request {
    precondition(request.isComplete || request.isBodyTooLarge, "not ready")
    precondition(request.body.count == min(request.bodyCount, limits.bodyBytes), "not the body")
    for field in 0..<5 where request.repeatedFields & 1 << UInt64(field) != 0 {
        precondition(request.range(of: field) != nil, "repeated without being there")
    }
    return Request(
        stream: request.stream,
        bytes: request.bytes,
        bodyCount: request.bodyCount,
        ranges: (0..<5).map(request.range(of:)),
        repeatedFields: request.repeatedFields,
        flags: [request.isComplete, request.isBodyTooLarge, request.isClosed, request.hasRepeatedUnknown]
    )
}

private func answer(_ request: HTTP2Request, _ server: HTTP2Server) {
    let answer = HTTP2Answer()
    answer.reset(status: request.isComplete ? 200 : 413)
    answer.add("apns-id", [1, 2, 3].span)
    if request.stream % 3 == 0 || !request.isComplete { answer.body = Array(#"{"reason":"Any"}"#.utf8) }
    if request.stream % 5 == 0, request.isComplete { server.reclaimBytes(of: request) }
    server.respond(to: request, answer)
    server.refuseRest(of: request)
    server.release(request)
}

/// What the server says, without the credit that it gives: that follows the pieces in which a body came.
private func frames(of server: HTTP2Server) -> [[UInt8]] {
    var output: [UInt8] = []
    server.collect(into: &output)
    var frames: [[UInt8]] = []
    while !output.isEmpty {
        let count = 9 + Int(output[0]) << 16 + Int(output[1]) << 8 + Int(output[2])
        precondition(count <= output.count, "a part of a frame")
        if output[3] != 8 { frames.append(Array(output.prefix(count))) }
        output.removeFirst(count)
    }
    return frames
}
