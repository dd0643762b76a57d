/// The answer to Connect.
package struct ConnectAck: Equatable, Sendable {
    /// 0 is accepted, 2 refused.
    package var status: UInt8
    /// The device's base token, also when it was refused.
    package var token: [UInt8]
    /// Why it was refused; extended clients only.
    package var reason: String?
    /// When to try again; extended clients only.
    package var retrySeconds: UInt32?
    /// Unix milliseconds, so that a device can set its clock for the next nonce.
    package var serverTimeMilliseconds: UInt64

    package init(
        status: UInt8,
        token: [UInt8],
        reason: String? = nil,
        retrySeconds: UInt32? = nil,
        serverTimeMilliseconds: UInt64
    ) {
        self.status = status
        self.token = token
        self.reason = reason
        self.retrySeconds = retrySeconds
        self.serverTimeMilliseconds = serverTimeMilliseconds
    }
}

extension ConnectAck {
    private enum ItemID {
        static let status: UInt8 = 1
        static let token: UInt8 = 3
        static let messageSize: UInt8 = 4
        static let version: UInt8 = 5
        static let capabilities: UInt8 = 6
        static let largeMessageSize: UInt8 = 8
        static let serverTime: UInt8 = 10
    }

    init(_ body: Span<UInt8>) throws(Malformed) {
        var status: UInt8?
        self.init(status: 0, token: [], serverTimeMilliseconds: 0)
        var reader = ItemReader()
        while let item = try reader.next(in: body) {
            switch item.id {
            case ItemID.status: status = try body.number(item)
            case ItemID.token: token = body.bytes(item)
            case ItemID.serverTime: serverTimeMilliseconds = try body.number(item)
            case ExtendedItem.reason: reason = try body.text(item)
            case ExtendedItem.retrySeconds: retrySeconds = try body.number(item)
            default: break
            }
        }
        guard let status else { throw Malformed() }
        self.status = status
    }

    /// Writes every item that some client in the field insists on, whatever the status.
    func encode(into output: inout [UInt8]) {
        output.appendFrame(.connectAck, reserving: 96) { items in
            items.appendItem(ItemID.status, status)
            items.appendItem(ItemID.token, token)
            items.appendItem(ItemID.messageSize, UInt16(5120))
            items.appendItem(ItemID.version, UInt16(2))
            items.appendItem(ItemID.capabilities, UInt32(0))
            items.appendItem(ItemID.largeMessageSize, UInt16(15360))
            items.appendItem(ItemID.serverTime, serverTimeMilliseconds)
            if let reason { items.appendItem(ExtendedItem.reason, reason) }
            if let retrySeconds { items.appendItem(ExtendedItem.retrySeconds, retrySeconds) }
        }
    }
}
