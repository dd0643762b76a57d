/// What the server tells a device. An item that may stand once and stands twice counts with its last value.
package enum ServerMessage: Equatable, Sendable {
    case connectAck(ConnectAck)
    /// Nothing waits for what the last Filter enabled.
    case noStorage(token: [UInt8])
    case notify(Notify)
    /// The answer to a device's own message; 3 refuses it.
    case notifyAck(token: [UInt8], messageID: [UInt8], status: UInt8)
    case keepAliveAck
    /// The answer to a TokenRequest; `reason` and `retrySeconds` are for extended clients.
    case tokenAck(
        status: UInt8,
        token: [UInt8],
        topicHash: TopicHash,
        appID: [UInt8]? = nil,
        reason: String? = nil,
        retrySeconds: UInt32? = nil
    )
    case subscribeAck(index: [UInt8], token: [UInt8], status: UInt8)
    /// The server is about to close; extended clients only.
    case goodbye(reason: String?, retrySeconds: UInt32?, host: String?)
    /// The answer to Unregister; extended clients only.
    case unregisterAck(status: UInt8, hash: TopicHash)
    /// An operator took a registration away; extended clients only.
    case tokenGone(hash: TopicHash, token: [UInt8])
    /// A command this client does not know, to be ignored.
    case unknown(UInt8)
}

extension ServerMessage {
    /// Appends the frame. A `unknown` is written with an empty body.
    package func encode(into output: inout [UInt8]) {
        switch self {
        case .connectAck(let ack): ack.encode(into: &output)
        case .noStorage(let token): output.appendFrame(.noStorage) { $0.appendItem(ItemID.NoStorage.token, token) }
        case .notify(let notify): notify.encode(into: &output)
        case .notifyAck(let token, let messageID, let status):
            output.appendFrame(.notifyAck) { items in
                items.appendItem(NotifyAck.ItemID.token, token)
                items.appendItem(NotifyAck.ItemID.messageID, messageID)
                items.appendItem(NotifyAck.ItemID.status, status)
            }
        case .keepAliveAck: output.appendFrame(.keepAliveAck) { _ in }
        case .tokenAck: encodeTokenAck(into: &output)
        case .subscribeAck(let index, let token, let status):
            output.appendFrame(.subscribe) { items in
                items.appendItem(ItemID.SubscribeAck.index, index)
                items.appendItem(ItemID.SubscribeAck.token, token)
                items.appendItem(ItemID.SubscribeAck.status, status)
            }
        case .goodbye(let reason, let retrySeconds, let host):
            output.appendFrame(.goodbye) { items in
                if let reason { items.appendItem(ExtendedItem.reason, reason) }
                if let retrySeconds { items.appendItem(ExtendedItem.retrySeconds, retrySeconds) }
                if let host { items.appendItem(ExtendedItem.host, host) }
            }
        case .unregisterAck(let status, let hash):
            output.appendFrame(.unregisterAck) { items in
                items.appendItem(ItemID.UnregisterAck.status, status)
                items.appendItem(ItemID.UnregisterAck.topicHash, hash)
            }
        case .tokenGone(let hash, let token):
            output.appendFrame(.tokenGone) { items in
                items.appendItem(ItemID.TokenGone.topicHash, hash)
                items.appendItem(ItemID.TokenGone.token, token)
            }
        case .unknown(let command): output.append(contentsOf: [command, 0, 0, 0, 0])
        }
    }

    private func encodeTokenAck(into output: inout [UInt8]) {
        guard case .tokenAck(let status, let token, let hash, let appID, let reason, let retry) = self else { return }
        output.appendFrame(.tokenAck) { items in
            items.appendItem(ItemID.TokenAck.status, status)
            items.appendItem(ItemID.TokenAck.token, token)
            items.appendItem(ItemID.TokenAck.topicHash, hash)
            if let appID { items.appendItem(ItemID.TokenAck.appID, appID) }
            if let reason { items.appendItem(ExtendedItem.reason, reason) }
            if let retry { items.appendItem(ExtendedItem.retrySeconds, retry) }
        }
    }

    /// The items of the small frames, command by command.
    enum ItemID {
        enum NoStorage {
            static let token: UInt8 = 1
        }
        enum TokenAck {
            static let status: UInt8 = 1
            static let token: UInt8 = 2
            static let topicHash: UInt8 = 3
            static let appID: UInt8 = 4
        }
        enum SubscribeAck {
            static let index: UInt8 = 1
            static let token: UInt8 = 3
            static let status: UInt8 = 4
        }
        enum UnregisterAck {
            static let status: UInt8 = 1
            static let topicHash: UInt8 = 2
        }
        enum TokenGone {
            static let topicHash: UInt8 = 2
            static let token: UInt8 = 3
        }
    }
}
