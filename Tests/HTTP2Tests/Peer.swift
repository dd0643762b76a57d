import HTTP2

/// A connection in a test: the server, and what it said, as frames.
final class Peer {
    static let path = 1
    static let topic = 2
    static let fields = HTTP2Fields([":method", ":path", "apns-topic", "apns-id"])

    let server: HTTP2Server
    private var requests: [HTTP2Request] = []

    /// After the preface and the server's first frames, unless `greet` is false.
    init(_ limits: HTTP2Limits = HTTP2Limits(announcedStreams: 1000), greet: Bool = true) throws {
        server = try HTTP2Server(fields: Self.fields, limits: limits)
        guard greet else { return }
        try receive(Frames.hello + Frames.settingsAcknowledged)
        _ = sent()
    }

    func receive(_ bytes: [UInt8]) throws {
        try server.receive(bytes.span)
    }

    /// Feeds and returns what became ready.
    func requests(_ bytes: [UInt8]) throws -> [HTTP2Request] {
        try receive(bytes)
        return taken()
    }

    func taken() -> [HTTP2Request] {
        var list: [HTTP2Request] = []
        server.takeRequests(into: &list)
        return list
    }

    func sent() -> [WireFrame] {
        var output: [UInt8] = []
        server.collect(into: &output)
        return WireFrame.parse(output)
    }

    func respond(_ request: HTTP2Request, _ status: Int = 200, body: String = "") {
        let answer = HTTP2Answer()
        answer.reset(status: status)
        answer.body = Array(body.utf8)
        server.respond(to: request, answer)
    }

    /// Answers everything with 200 and gives it back.
    func finish(_ requests: [HTTP2Request]) {
        for request in requests {
            respond(request)
            server.release(request)
        }
    }
}

extension HTTP2Request {
    func text(_ field: Int) -> String? {
        range(of: field).map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    var bodyText: String { String(decoding: bytes[body], as: UTF8.self) }
}
