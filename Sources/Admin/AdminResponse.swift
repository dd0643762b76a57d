/// What the admin port answers: a body, or a stream of server-sent events.
package struct AdminResponse: Sendable {
    /// The HTTP status.
    package var status: Int
    /// What `Content-Type` says of the body.
    package var contentType: String
    /// The whole body; not looked at if there is a secret one, or a stream.
    package var body: [UInt8]
    /// Headers beside `Content-Type`, which is left out when there is no body.
    package var headers: [(name: String, value: String)] = []
    /// If set, the body is this: it holds a key.
    package var secretBody: SecretBytes?
    /// If set, the body is what the stream gives, until it ends or the client goes.
    package var stream: (any AdminStream)?

    package init(status: Int, contentType: String = "application/json", body: [UInt8] = []) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// An answer in JSON that holds a key.
    package init(status: Int, secretBody: SecretBytes) {
        self.init(status: status)
        self.secretBody = secretBody
    }

    /// Server-sent events.
    package init(stream: any AdminStream) {
        self.init(status: 200, contentType: "text/event-stream")
        headers = [("Cache-Control", "no-store")]
        self.stream = stream
    }

    /// An error in the admin API's form. `message` needs no escaping.
    init(status: Int, code: StaticString, message: String) {
        self.init(status: status, body: Array(#"{"error":{"code":"\#(code)","message":"\#(message)"}}"#.utf8))
    }
}

/// A source of server-sent events. The server calls it from one thread.
package protocol AdminStream: Sendable {
    /// The next events as they go out, after at most about a second: empty if there is nothing yet, nil at the end.
    func next() -> [UInt8]?

    /// Nobody listens any more. Called once, also after the end.
    func cancel()
}
