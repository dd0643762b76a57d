/// nginx with nchan: publishes with HTTP/1.1 requests, as many in a row as the limit in flight allows, and subscribes
/// by WebSocket. The subscriber acknowledges nothing: nchan has no way to.
struct NchanConversation: Conversation {
    static let isGreeted = false
    static let confirms = true

    private let part: Part
    /// The head of each request, by subscriber.
    private let heads: [[UInt8]]
    private var isReady = false

    init(_ part: Part) {
        self.part = part
        guard part.role == .publisher else {
            heads = []
            return
        }
        heads = (0..<part.load.subscribers).map {
            Array(
                "POST /publish?id=\($0) HTTP/1.1\r\nHost: load\r\nContent-Length: \(part.payload.count)\r\n\r\n".utf8
            )
        }
    }

    mutating func begin(into output: inout [UInt8]) {
        switch part.role {
        // Whatever the answer: it tells that the connection is open.
        case .publisher:
            output += Array("GET / HTTP/1.1\r\nHost: load\r\n\r\n".utf8)
        case .subscriber:
            let head = "GET /subscribe?id=\(part.index) HTTP/1.1\r\nHost: load\r\nConnection: Upgrade\r\n"
            // The key is the example of RFC 6455: it proves nothing to a load.
            let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            output += Array("\(head)Upgrade: websocket\r\n\(key)\r\n".utf8)
        }
    }

    mutating func receive(_ bytes: Span<UInt8>, _ receipts: inout Receipts) throws(PeerError) -> Int {
        var start = 0
        if part.role == .publisher || !isReady {
            while let head = try HTTPHead.next(in: bytes, from: start) {
                guard head.bodyStart + head.bodyCount <= bytes.count else { break }
                try take(head.status, &receipts)
                start = head.bodyStart + head.bodyCount
                if part.role == .subscriber { break }
            }
        }
        guard part.role == .subscriber, isReady else { return start }
        while let frame = try WebSocketFrame.next(in: bytes, from: start) {
            switch frame.head {
            case WebSocketFrame.text, WebSocketFrame.binary: try receipts.deliver(bytes.extracting(frame.content))
            case WebSocketFrame.ping: receipts.answers += WebSocketFrame.pong
            default: throw .refused("a frame came that begins with \(frame.head)")
            }
            start = frame.content.upperBound
        }
        return start
    }

    mutating func publish(_ number: Int, to subscriber: Int, into output: inout [UInt8]) {
        output.append(contentsOf: heads[subscriber])
        part.payload.append(number, to: &output)
    }

    private mutating func take(_ status: Int, _ receipts: inout Receipts) throws(PeerError) {
        switch (part.role, isReady, status) {
        case (.publisher, false, _), (.subscriber, false, 101):
            isReady = true
            receipts.isReady = true
        // Whether anybody listened.
        case (.publisher, true, 201), (.publisher, true, 202):
            receipts.confirmed += 1
        default:
            throw .refused("nginx answered \(status)")
        }
    }
}
