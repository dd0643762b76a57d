import CNGHTTP2
import HTTP2
import TestSupport
import Testing

/// Our judgement of headers beside nghttp2's own, which a session without `no_http_messaging` still gives.
@Suite struct HeaderRulesTests {
    @Test(arguments: SeededRandom.seeds) func `nghttp2 judges random requests the same`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var verdicts = [true: 0, false: 0]
        for _ in 0..<1_600 {
            let request = RandomRequest(using: &random)
            let isGood = try accepts(request)
            verdicts[isGood, default: 0] += 1
            #expect(isGood == Oracle().accepts(request.frames), "\(request)")
        }
        // Neither verdict is a matter of course.
        #expect(verdicts.values.allSatisfy { $0 > 160 })
    }

    @Test(arguments: 0...255) func `nghttp2 judges each byte in each place the same`(_ byte: Int) throws {
        let letter = UInt8(byte)
        for place in 0..<20 {
            var text = [UInt8](repeating: UInt8(ascii: "a"), count: 20)
            text[place] = letter
            for name in [":path", ":authority", ":scheme", ":method", "apns-topic", "host", "x"] {
                let value = name == ":path" ? [UInt8(ascii: "/")] + text : text
                try expectSame(name, Array(name.utf8), value)
            }
            try expectSame("a name", text, [])
        }
    }

    /// Puts a field in the place of the usual one of that name, or behind them.
    private func expectSame(_ replaced: String, _ name: [UInt8], _ value: [UInt8]) throws {
        var fields = RandomRequest.usual.filter { $0.name != Array(replaced.utf8) }
        fields.insert((name, value), at: name.first == UInt8(ascii: ":") ? 0 : fields.count)
        let request = RandomRequest(fields: fields)
        #expect(try accepts(request) == Oracle().accepts(request.frames), "\(request)")
    }

    private func accepts(_ request: RandomRequest) throws -> Bool {
        let peer = try Peer()
        let requests = try peer.requests(request.frames)
        let resets = peer.sent().filter { $0.kind == .reset }
        #expect(resets.isEmpty != requests.isEmpty, "a request is taken or reset: \(request)")
        return resets.isEmpty
    }
}

/// A request that may be wrong in many ways.
private struct RandomRequest: CustomStringConvertible {
    typealias Field = (name: [UInt8], value: [UInt8])

    var fields: [Field]
    var body = 2
    var trailers: [Field]?

    static let usual: [Field] = [
        (":method", "POST"), (":scheme", "https"), (":path", "/a"), (":authority", "a"),
    ].map { (Array($0.utf8), Array($1.utf8)) }

    private static let others = [
        ("content-length", "2"), ("content-length", "02"), ("content-length", "3"), ("content-length", "-1"),
        ("content-length", ""), ("content-length", "99999999999999999999"), ("te", "trailers"), ("te", "Trailers"),
        ("te", "gzip"), ("host", "a"), ("host", ""), ("host", "a b"), ("connection", "close"), ("keep-alive", "1"),
        ("proxy-connection", "1"), ("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("upgradf", "a"),
        (":path", "/b"), (":path", ""), (":path", "*"), (":path", "b"), (":method", "CONNECT"), (":method", "OPTIONS"),
        (":method", "P OST"), (":method", "GET"), (":scheme", "http"), (":scheme", "HTTPS"), (":scheme", "a+1"),
        (":scheme", "1a"), (":authority", "a@b:1"), (":authority", ""), (":protocol", "websocket"), (":status", "200"),
        (":unknown", "a"), ("apns-topic", "a\tb"), ("apns-topic", "a\u{1}"), ("apns-topic", ""), ("Apns-topic", "a"),
        ("", "a"), ("x y", "a"), ("cookie", "a=\u{7f}"), ("x", " padded "), ("x-long", "12345678\u{0}2345678"),
        ("priority", "u=1"), ("priority", "what"), ("expect", "100-continue"),
    ].map { (name: Array($0.utf8), value: Array($1.utf8)) }

    init(fields: [Field]) { self.fields = fields }

    init(using random: inout some RandomNumberGenerator) {
        fields = Self.usual
        if Int.random(in: 0..<4, using: &random) == 0 { fields.remove(at: Int.random(in: 0..<4, using: &random)) }
        for _ in 0..<Int.random(in: 0..<3, using: &random) {
            guard let other = Self.others.randomElement(using: &random) else { break }
            let place = Int.random(in: 0...fields.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: fields.insert(other, at: place)
            case 1 where place < fields.count: fields[place] = other
            default: fields.append(other)
            }
        }
        if Bool.random(using: &random) { body = Int.random(in: 0..<4, using: &random) }
        if Int.random(in: 0..<8, using: &random) == 0 { trailers = [Self.others.randomElement(using: &random)!] }
    }

    var frames: [UInt8] {
        let isAlone = body == 0 && trailers == nil
        var frames = Frames.headers(1, fields: fields, end: isAlone)
        if body > 0 { frames += Frames.data(1, [UInt8](repeating: 0x61, count: body), end: trailers == nil) }
        if let trailers { frames += Frames.headers(1, fields: trailers, end: true) }
        return frames
    }

    var description: String {
        let fields = (fields + (trailers ?? [])).map { "\(String(decoding: $0.name, as: UTF8.self)): \($0.value)" }
        return "\(fields), \(body) bytes, trailers: \(trailers != nil)"
    }
}

/// A server session of nghttp2 as it comes, which judges for itself.
private final class Oracle {
    private var session: OpaquePointer?

    init() {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        nghttp2_option_new(&options)
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(options)
        }
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { session, frame, _, _, _, _, _, _ in
            // As ours does with what nghttp2 would merely ignore.
            nghttp2_submit_rst_stream(session, 0, frame!.pointee.hd.stream_id, NGHTTP2_PROTOCOL_ERROR.rawValue)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        // Each value's own grammar answers for its spaces.
        nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(options, 1)
        nghttp2_session_server_new2(&session, callbacks, nil, options)
        nghttp2_submit_settings(session, 0, nil, 0)
    }

    deinit { nghttp2_session_del(session) }

    func accepts(_ frames: [UInt8]) -> Bool {
        let input = Frames.hello + frames
        guard nghttp2_session_mem_recv(session, input, input.count) == input.count else { return false }
        var output: [UInt8] = []
        var chunk: UnsafePointer<UInt8>?
        while true {
            let count = nghttp2_session_mem_send(session, &chunk)
            guard count > 0 else { break }
            output += UnsafeBufferPointer(start: chunk, count: count)
        }
        return !WireFrame.parse(output).contains { $0.kind == .reset }
    }
}
