import HTTP2

/// What a load's pushes have in common.
package struct LoadTarget: Sendable {
    /// `:authority`: where the server listens.
    package var authority: String
    /// The device tokens in turn, in hexadecimal.
    package var tokens: [String]
    /// `apns-topic`.
    package var topic: String
    /// `authorization`, whole.
    package var authorization: String
    /// Bytes of each payload.
    package var payloadSize: Int

    package init(
        authority: String,
        tokens: [String],
        topic: String,
        authorization: String,
        payloadSize: Int
    ) {
        self.authority = authority
        self.tokens = tokens
        self.topic = topic
        self.authorization = authorization
        self.payloadSize = payloadSize
    }
}

/// Requests as they stand on the wire, encoded before the load begins: sending one copies it and writes its stream and
/// its number into the copy.
struct ProviderRequests {
    /// The blocks of the first request of a connection by token, then those of all later ones: the first fills the
    /// server's header table.
    private let first: [[UInt8]]
    private let later: [[UInt8]]
    /// A DATA frame.
    private var body: [UInt8] = []
    private let numberOffset: Int

    /// Bytes of each payload.
    var bodyCount: Int { body.count - ProviderConversation.headSize }

    /// `mark` goes into each payload and tells one load's pushes from another's.
    init(_ target: LoadTarget, mark: UInt32, tableSize: Int) throws(LoadError) {
        let payload = LoadPayload.bytes(count: target.payloadSize, mark: mark)
        let later = try http2 { () throws(HTTP2Error) in try HeaderEncoder(tableSize: tableSize) }
        var (firstBlocks, laterBlocks): ([[UInt8]], [[UInt8]]) = ([], [])
        for token in target.tokens {
            let fields = Self.fields(target, token, bodyCount: payload.count)
            let first = try http2 { () throws(HTTP2Error) in
                try HeaderEncoder(tableSize: tableSize).encode(fields)
            }
            // It has to have seen a first one itself.
            if laterBlocks.isEmpty { _ = try http2 { () throws(HTTP2Error) in try later.encode(fields) } }
            firstBlocks.append(try Self.headersFrame(first))
            laterBlocks.append(
                try Self.headersFrame(try http2 { () throws(HTTP2Error) in try later.encode(fields) })
            )
        }
        self.first = firstBlocks
        self.later = laterBlocks
        body.appendFrameHead(FrameType.data, flags: FrameFlag.endStream, count: payload.count)
        numberOffset = body.count + LoadPayload.numberOffset
        body += payload
    }

    /// Appends a request for the token whose turn it is.
    func append(_ number: Int, stream: UInt32, isFirst: Bool, to output: inout [UInt8]) {
        let token = number % later.count
        let headersStart = output.count
        if isFirst { output += first[token] } else { output += later[token] }
        output.setWord(stream, at: headersStart + 5)
        let bodyStart = output.count
        output += body
        output.setWord(stream, at: bodyStart + 5)
        LoadPayload.write(UInt32(number), to: &output, at: bodyStart + numberOffset)
    }

    private static func headersFrame(_ block: [UInt8]) throws(LoadError) -> [UInt8] {
        guard block.count <= 16_384 else { throw .protocolBroken("the request's headers do not fit into a frame") }
        var frame: [UInt8] = []
        frame.appendFrameHead(FrameType.headers, flags: FrameFlag.endHeaders, count: block.count)
        return frame + block
    }

    private static func fields(
        _ target: LoadTarget,
        _ token: String,
        bodyCount: Int
    ) -> [(name: String, value: String)] {
        [
            (":method", "POST"), (":scheme", "https"), (":authority", target.authority),
            (":path", "/3/device/\(token)"), ("user-agent", "carillon-bench"),
            ("authorization", target.authorization), ("apns-topic", target.topic), ("apns-push-type", "alert"),
            ("content-length", String(bodyCount)),
        ]
    }
}
