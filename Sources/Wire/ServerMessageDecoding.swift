extension ServerMessage {
    init(command: UInt8, body: Span<UInt8>) throws(Malformed) {
        self =
            switch Command(rawValue: command) {
            case .connectAck: .connectAck(try ConnectAck(body))
            case .noStorage: try readNoStorage(body)
            case .notify: .notify(try Notify(body))
            case .notifyAck: try readNotifyAck(body)
            case .keepAliveAck: .keepAliveAck
            case .tokenAck: try readTokenAck(body)
            case .subscribe: try readSubscribeAck(body)
            case .goodbye: try readGoodbye(body)
            case .unregisterAck: try readUnregisterAck(body)
            case .tokenGone: try readTokenGone(body)
            case .connect, .filter, .keepAlive, .tokenRequest, .setState, .unregister, nil: .unknown(command)
            }
    }
}

private typealias ItemID = ServerMessage.ItemID

private func readNoStorage(_ body: Span<UInt8>) throws(Malformed) -> ServerMessage {
    var token: [UInt8] = []
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        if item.id == ItemID.NoStorage.token { token = body.bytes(item) }
    }
    return .noStorage(token: token)
}

private func readNotifyAck(_ body: Span<UInt8>) throws(Malformed) -> ServerMessage {
    var (token, messageID, status): ([UInt8], [UInt8], UInt8) = ([], [], 0)
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        switch item.id {
        case NotifyAck.ItemID.token: token = body.bytes(item)
        case NotifyAck.ItemID.messageID: messageID = body.bytes(item)
        case NotifyAck.ItemID.status: status = try body.number(item)
        default: break
        }
    }
    return .notifyAck(token: token, messageID: messageID, status: status)
}

private func readTokenAck(_ body: Span<UInt8>) throws(Malformed) -> ServerMessage {
    var (status, hash): (UInt8?, TopicHash?)
    var (token, appID, reason): ([UInt8], [UInt8]?, String?) = ([], nil, nil)
    var retrySeconds: UInt32?
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        switch item.id {
        case ItemID.TokenAck.status: status = try body.number(item)
        case ItemID.TokenAck.token: token = body.bytes(item)
        case ItemID.TokenAck.topicHash: hash = try body.topicHash(item)
        case ItemID.TokenAck.appID: appID = body.bytes(item)
        case ExtendedItem.reason: reason = try body.text(item)
        case ExtendedItem.retrySeconds: retrySeconds = try body.number(item)
        default: break
        }
    }
    guard let status, let hash else { throw Malformed() }
    return .tokenAck(
        status: status,
        token: token,
        topicHash: hash,
        appID: appID,
        reason: reason,
        retrySeconds: retrySeconds
    )
}

private func readSubscribeAck(_ body: Span<UInt8>) throws(Malformed) -> ServerMessage {
    var (index, token, status): ([UInt8], [UInt8], UInt8?) = ([], [], nil)
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        switch item.id {
        case ItemID.SubscribeAck.index: index = body.bytes(item)
        case ItemID.SubscribeAck.token: token = body.bytes(item)
        case ItemID.SubscribeAck.status: status = try body.number(item)
        default: break
        }
    }
    guard let status else { throw Malformed() }
    return .subscribeAck(index: index, token: token, status: status)
}

private func readGoodbye(_ body: Span<UInt8>) throws(Malformed) -> ServerMessage {
    var (reason, retrySeconds, host): (String?, UInt32?, String?)
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        switch item.id {
        case ExtendedItem.reason: reason = try body.text(item)
        case ExtendedItem.retrySeconds: retrySeconds = try body.number(item)
        case ExtendedItem.host: host = try body.text(item)
        default: break
        }
    }
    return .goodbye(reason: reason, retrySeconds: retrySeconds, host: host)
}

private func readUnregisterAck(_ body: Span<UInt8>) throws(Malformed) -> ServerMessage {
    var (status, hash): (UInt8?, TopicHash?)
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        switch item.id {
        case ItemID.UnregisterAck.status: status = try body.number(item)
        case ItemID.UnregisterAck.topicHash: hash = try body.topicHash(item)
        default: break
        }
    }
    guard let status, let hash else { throw Malformed() }
    return .unregisterAck(status: status, hash: hash)
}

private func readTokenGone(_ body: Span<UInt8>) throws(Malformed) -> ServerMessage {
    var (hash, token): (TopicHash?, [UInt8]) = (nil, [])
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        switch item.id {
        case ItemID.TokenGone.topicHash: hash = try body.topicHash(item)
        case ItemID.TokenGone.token: token = body.bytes(item)
        default: break
        }
    }
    guard let hash else { throw Malformed() }
    return .tokenGone(hash: hash, token: token)
}
