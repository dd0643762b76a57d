/// A device asks for the token of one of its apps' topics.
package struct TokenRequest: Equatable, Sendable {
    /// nil if the device left it out.
    package var baseToken: [UInt8]?
    /// The topic a token is wanted for.
    package var topicHash: TopicHash
    /// Echoed in the answer when it was given.
    package var appID: [UInt8]?
    /// The topic's name, from extended clients. The hash is what counts.
    package var topicName: String?

    package init(
        baseToken: [UInt8]? = nil,
        topicHash: TopicHash,
        appID: [UInt8]? = nil,
        topicName: String? = nil
    ) {
        self.baseToken = baseToken
        self.topicHash = topicHash
        self.appID = appID
        self.topicName = topicName
    }
}

extension TokenRequest {
    private enum ItemID {
        static let baseToken: UInt8 = 1
        static let topicHash: UInt8 = 2
        static let appID: UInt8 = 3
    }

    init(_ body: Span<UInt8>) throws(Malformed) {
        var topicHash: TopicHash?
        self.init(topicHash: .zero)
        var reader = ItemReader()
        while let item = try reader.next(in: body) {
            switch item.id {
            case ItemID.baseToken: baseToken = body.bytes(item)
            case ItemID.topicHash: topicHash = try body.topicHash(item)
            case ItemID.appID: appID = body.bytes(item)
            case ExtendedItem.topicName: topicName = try body.text(item)
            default: break
            }
        }
        guard let topicHash else { throw Malformed() }
        self.topicHash = topicHash
    }

    func encode(into output: inout [UInt8]) {
        output.appendFrame(.tokenRequest) { items in
            if let baseToken { items.appendItem(ItemID.baseToken, baseToken) }
            items.appendItem(ItemID.topicHash, topicHash)
            if let appID { items.appendItem(ItemID.appID, appID) }
            if let topicName { items.appendItem(ExtendedItem.topicName, topicName) }
        }
    }
}
