/// A message from a device to someone else. The gateway does not offer that: it needs to know only what to refuse.
package struct UpstreamNotify: Equatable, Sendable {
    /// What the refusal must name; empty when the device gave none.
    package var messageID: [UInt8]
    /// The sender's base token.
    package var token: [UInt8]

    package init(messageID: [UInt8], token: [UInt8]) {
        self.messageID = messageID
        self.token = token
    }
}

extension UpstreamNotify {
    private enum ItemID {
        static let token: UInt8 = 2
        static let messageID: UInt8 = 4
    }

    init(_ body: Span<UInt8>) throws(Malformed) {
        self.init(messageID: [], token: [])
        var reader = ItemReader()
        while let item = try reader.next(in: body) {
            switch item.id {
            case ItemID.token: token = body.bytes(item)
            case ItemID.messageID: messageID = body.bytes(item)
            default: break
            }
        }
    }

    func encode(into output: inout [UInt8]) {
        output.appendFrame(.notify) { items in
            items.appendItem(ItemID.token, token)
            items.appendItem(ItemID.messageID, messageID)
        }
    }
}
