package import PushCore

/// The headers of a push request, as they lie in a stream's bytes. Named ones come once.
package struct SampleRequest {
    package private(set) var bytes: [UInt8] = []
    package private(set) var head = RequestHead()

    /// A good request; `headers` adds to it or replaces, nil leaves one out.
    package init(_ headers: [RequestField: String?] = [:]) {
        var values: [RequestField: String] = [
            .method: "POST", .path: "/3/device/" + Self.token, .topic: "com.example.app",
        ]
        for (field, value) in headers { values[field] = value }
        // Something before the first, so that an offset is not a length by chance.
        bytes = Array("before".utf8)
        for field in RequestField.allCases {
            guard let value = values[field] else { continue }
            head[field] = bytes.count..<bytes.count + value.utf8.count
            bytes += Array(value.utf8)
        }
        bytes += Array("after".utf8)
    }

    package mutating func repeatHeader() { head.hasDuplicates = true }

    package static let token = String(repeating: "ab", count: 32)

    package func target() throws(Rejection) -> PushRequest.Target { try PushRequest.target(head, bytes.span) }

    package func messageID() throws(Rejection) -> String? {
        try PushRequest.messageID(head, bytes.span)?.description
    }

    package func topic() throws(Rejection) -> String { text(try PushRequest.topic(head, bytes.span)) }

    package func parsed(suffix: String? = nil) throws(Rejection) -> PushRequest {
        try PushRequest(head, bytes.span, topicSuffix: suffix)
    }

    package func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
