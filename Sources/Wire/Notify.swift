package import PushCore

/// A notification on its way to a device.
package struct Notify: Equatable, Sendable {
    /// The device token it was sent to.
    package var token: [UInt8]
    /// The topic it is for.
    package var topicHash: TopicHash
    /// As the provider sent it, byte for byte.
    package var payload: [UInt8]
    /// What the device's acknowledgement will name.
    package var messageID: UInt32
    /// When it is no longer of use, in Unix seconds.
    package var expiry: UInt32
    /// When the server accepted it, in Unix nanoseconds.
    package var timestamp: UInt64
    /// 0 for a live one, 1 for one that was stored, 3 for the last of those.
    package var storageFlags: UInt8
    /// 10, 5 or 1.
    package var priority: UInt8
    /// What the protocol calls the device by.
    package var baseToken: [UInt8]

    /// The topic's name; from here on only extended clients are told.
    package var topicName: String?
    /// The push's id in the whole instance.
    package var uniqueID: UniqueID?
    /// The collapse id, if the push has one.
    package var collapseID: [UInt8]?
    /// The push type, if the provider named one.
    package var pushType: String?

    package init(
        token: [UInt8],
        topicHash: TopicHash,
        payload: [UInt8],
        messageID: UInt32,
        expiry: UInt32,
        timestamp: UInt64,
        storageFlags: UInt8,
        priority: UInt8,
        baseToken: [UInt8],
        topicName: String? = nil,
        uniqueID: UniqueID? = nil,
        collapseID: [UInt8]? = nil,
        pushType: String? = nil
    ) {
        self.token = token
        self.topicHash = topicHash
        self.payload = payload
        self.messageID = messageID
        self.expiry = expiry
        self.timestamp = timestamp
        self.storageFlags = storageFlags
        self.priority = priority
        self.baseToken = baseToken
        self.topicName = topicName
        self.uniqueID = uniqueID
        self.collapseID = collapseID
        self.pushType = pushType
    }
}

extension Notify {
    enum ItemID {
        static let token: UInt8 = 1
        static let topicHash: UInt8 = 2
        static let payload: UInt8 = 3
        static let messageID: UInt8 = 4
        static let expiry: UInt8 = 5
        static let timestamp: UInt8 = 6
        static let storageFlags: UInt8 = 7
        static let priority: UInt8 = 13
        static let baseToken: UInt8 = 15
    }

    init(_ body: Span<UInt8>) throws(Malformed) {
        var topicHash: TopicHash?
        var messageID: UInt32?
        self.init(
            token: [],
            topicHash: .zero,
            payload: [],
            messageID: 0,
            expiry: 0,
            timestamp: 0,
            storageFlags: 0,
            priority: 10,
            baseToken: []
        )
        var reader = ItemReader()
        while let item = try reader.next(in: body) {
            switch item.id {
            case ItemID.token: token = body.bytes(item)
            case ItemID.topicHash: topicHash = try body.topicHash(item)
            case ItemID.payload: payload = body.bytes(item)
            case ItemID.messageID: messageID = try body.number(item)
            case ItemID.expiry: expiry = try body.number(item)
            case ItemID.timestamp: timestamp = try body.number(item)
            case ItemID.storageFlags: storageFlags = try body.number(item)
            case ItemID.priority: priority = try body.number(item)
            case ItemID.baseToken: baseToken = body.bytes(item)
            case ExtendedItem.topicName: topicName = try body.text(item)
            case ExtendedItem.uniqueID: uniqueID = try body.uniqueID(item)
            case ExtendedItem.collapseID: collapseID = item.value.isEmpty ? nil : body.bytes(item)
            case ExtendedItem.pushType: pushType = try body.text(item)
            default: break
            }
        }
        guard let topicHash, let messageID else { throw Malformed() }
        self.topicHash = topicHash
        self.messageID = messageID
    }

    /// Appends the frame, with those of the extended items that it has.
    package func encode(into output: inout [UInt8]) {
        let route = NotifyRoute(token: token, topicHash: topicHash, baseToken: baseToken, topicName: topicName)
        let content = NotifyContent(
            PushContent(payload: payload[...], collapseID: collapseID?[...] ?? []),
            messageID: messageID,
            expiry: expiry,
            timestamp: timestamp,
            storageFlags: storageFlags,
            priority: priority,
            uniqueID: uniqueID,
            pushType: pushType
        )
        output.appendNotify(content, route, isExtended: true)
    }
}
