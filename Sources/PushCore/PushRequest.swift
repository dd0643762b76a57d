/// The headers of a push request that mean something, in the order HTTP2 numbers them.
package enum RequestField: Int, CaseIterable, Sendable {
    case method
    case path
    case authorization
    case apnsID
    case topic
    case pushType
    case priority
    case expiration
    case collapseID

    /// As it stands on the wire.
    package var name: StaticString {
        switch self {
        case .method: ":method"
        case .path: ":path"
        case .authorization: "authorization"
        case .apnsID: "apns-id"
        case .topic: "apns-topic"
        case .pushType: "apns-push-type"
        case .priority: "apns-priority"
        case .expiration: "apns-expiration"
        case .collapseID: "apns-collapse-id"
        }
    }
}

/// Where each header's value lies in the request's bytes; an absent header has no range.
package struct RequestHead: Sendable {
    private var ranges: InlineArray<9, Range<Int>?> = .init(repeating: nil)
    /// Whether a header that may come once came twice, even with equal values.
    package var hasDuplicates = false

    package init() {}

    /// `range` says where the first value of a header lies, by number.
    package init(_ range: (Int) -> Range<Int>?) { ranges = InlineArray { range($0) } }

    /// Where the first value of a header lies.
    package subscript(field: RequestField) -> Range<Int>? {
        get { ranges[field.rawValue] }
        set { ranges[field.rawValue] = newValue }
    }
}

/// What the headers of a push ask for, each already valid. Parsing follows the order of docs/provider-api.md; the
/// caller checks the provider token after `target` and the topic between `topic` and `init`.
package struct PushRequest: Equatable, Sendable {
    /// nil when absent.
    package let type: PushType?
    /// 10, or 5 for background, when absent.
    package let priority: Priority
    /// nil when absent; 0 and past moments mean "once".
    package let expiration: UInt64?
    /// Where it lies in the request's bytes; nil when absent.
    package let collapseID: Range<Int>?
    /// The most bytes its payload may have.
    package let payloadLimit: Int

    /// What the path asks for. A token that is no token, or none, is told only after everything else was looked at.
    package enum Target: Equatable, Sendable {
        case token(DeviceToken)
        case badToken
        case missingToken
    }

    /// Path, then method, then repeated headers. CONNECT has no path, and the `*` of OPTIONS is none: with them it is
    /// the method that is wrong.
    package static func target(_ head: RequestHead, _ bytes: Span<UInt8>) throws(Rejection) -> Target {
        let isPost = head[.method].map { PackedText(bytes, $0) == Known.post } ?? false
        let path = head[.path] ?? 0..<0
        if !isPost, path.isEmpty || PackedText(bytes, path) == Known.server { throw .methodNotAllowed }
        let target = try parsePath(path, bytes)
        guard isPost else { throw .methodNotAllowed }
        if head.hasDuplicates { throw .duplicateHeaders }
        return target
    }

    /// The value of `apns-id`: nil when absent. It is echoed byte for byte, so its case is kept.
    package static func messageID(_ head: RequestHead, _ bytes: Span<UInt8>) throws(Rejection) -> UUIDText? {
        guard let range = head[.apnsID] else { return nil }
        guard let id = UUIDText(bytes.extracting(range)) else { throw .badMessageID }
        return id
    }

    /// The value of `apns-topic`, well formed; whether it is allowed is the caller's to say.
    package static func topic(_ head: RequestHead, _ bytes: Span<UInt8>) throws(Rejection) -> Range<Int> {
        guard let range = head[.topic] else { throw .missingTopic }
        guard isTopic(bytes, range) else { throw .badTopic }
        return range
    }

    /// Push type, priority, expiration, collapse id. `suffix` is what follows the bundle id in the topic.
    package init(_ head: RequestHead, _ bytes: Span<UInt8>, topicSuffix suffix: String?) throws(Rejection) {
        let type = try Self.pushType(head, bytes)
        if type == .alert || type == .background, suffix != nil { throw .invalidPushType }
        self.type = type
        priority = try Self.priority(head, bytes, type)
        expiration = try Self.expiration(head, bytes)
        collapseID = head[.collapseID]
        if let collapseID, collapseID.count > Limits.collapseID { throw .badCollapseID }
        let isVoIP = type == .voip || (type == nil && suffix == PushType.voip.topicSuffix)
        payloadLimit = isVoIP ? Limits.voipPayload : Limits.payload
    }

    /// When a push accepted at `now` stops being good. At or before `now` means: once.
    package func expires(acceptedAt now: Moment, maximumAge: Interval) -> Moment {
        let latest = now + maximumAge
        guard let expiration else { return latest }
        // Milliseconds by mistake are simply a far date; comparing in seconds keeps them from overflowing.
        guard expiration < UInt64(max(latest.seconds, 0)) else { return latest }
        return Moment(seconds: Int64(expiration))
    }

    private static func pushType(_ head: RequestHead, _ bytes: Span<UInt8>) throws(Rejection) -> PushType? {
        guard let range = head[.pushType] else { return nil }
        guard let type = PushType(PackedText(bytes, range)) else { throw .invalidPushType }
        return type
    }

    private static func priority(
        _ head: RequestHead,
        _ bytes: Span<UInt8>,
        _ type: PushType?
    ) throws(Rejection) -> Priority {
        guard let range = head[.priority] else { return type == .background ? .powerAware : .immediate }
        let priority: Priority
        let value = PackedText(bytes, range)
        if value == Known.ten {
            priority = .immediate
        } else if value == Known.five {
            priority = .powerAware
        } else if value == Known.one {
            priority = .powerFirst
        } else {
            throw .badPriority
        }
        if type == .background, priority != .powerAware { throw .badPriority }
        return priority
    }

    private static func expiration(_ head: RequestHead, _ bytes: Span<UInt8>) throws(Rejection) -> UInt64? {
        guard let range = head[.expiration] else { return nil }
        guard (1...19).contains(range.count) else { throw .badExpirationDate }
        var value: UInt64 = 0
        for index in range {
            guard bytes[index] >= UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9") else { throw .badExpirationDate }
            value = value * 10 + UInt64(bytes[index] - UInt8(ascii: "0"))
        }
        return value
    }
}

/// Texts that requests are compared with.
private enum Known {
    static let post = PackedText(known: "POST")
    static let server = PackedText(known: "*")
    static let deviceFolder = PackedText(known: "/3/device")
    static let devicePath = PackedText(known: "/3/device/")
    static let ten = PackedText(known: "10")
    static let five = PackedText(known: "5")
    static let one = PackedText(known: "1")
}

/// `/3/device/<token>`, `/3/device/` or `/3/device`; everything else, a query or a further segment too, is a bad path.
private func parsePath(_ path: Range<Int>, _ bytes: Span<UInt8>) throws(Rejection) -> PushRequest.Target {
    let prefix = "/3/device/".utf8.count
    if PackedText(bytes, path) == Known.deviceFolder { return .missingToken }
    guard path.count >= prefix, PackedText(bytes, path.prefix(prefix)) == Known.devicePath else { throw .badPath }
    if path.count == prefix { return .missingToken }
    let digits = path.lowerBound + prefix..<path.upperBound
    if let token = DeviceToken(hex: bytes.extracting(digits)) { return .token(token) }
    for index in digits {
        if bytes[index] == UInt8(ascii: "/") || bytes[index] == UInt8(ascii: "?") { throw .badPath }
    }
    return .badToken
}

/// 1 to `Limits.topic` bytes that a topic may have.
private func isTopic(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard (1...Limits.topic).contains(range.count) else { return false }
    for index in range where !isTopicByte(bytes[index]) { return false }
    return true
}

/// What topics, and hence bundle ids, are made of: `[A-Za-z0-9._-]`.
package func isTopicByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
    default: false
    }
}
