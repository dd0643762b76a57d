/// What became of a notification on the device. Matched by id only: devices disagree on the token to name.
package struct NotifyAck: Equatable, Sendable {
    /// The id of the notification; nil when there is none of four bytes, so that it matches nothing.
    package var id: UInt32?
    /// 0 is done; anything else refuses the notification.
    package var status: UInt8

    package init(id: UInt32?, status: UInt8) {
        self.id = id
        self.status = status
    }
}

extension NotifyAck {
    enum ItemID {
        static let token: UInt8 = 1
        static let messageID: UInt8 = 4
        static let status: UInt8 = 8
    }

    init(_ body: Span<UInt8>) throws(Malformed) {
        self.init(id: nil, status: 0)
        var reader = ItemReader()
        while let item = try reader.next(in: body) {
            switch item.id {
            case ItemID.messageID: id = item.value.count == 4 ? try body.number(item) : nil
            case ItemID.status: status = try body.number(item)
            default: break
            }
        }
    }

    func encode(into output: inout [UInt8]) {
        output.appendFrame(.notifyAck, reserving: 11) { items in
            if let id { items.appendItem(ItemID.messageID, id) }
            items.appendItem(ItemID.status, status)
        }
    }
}
