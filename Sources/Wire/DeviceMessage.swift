/// What a device tells the server. An item that may stand once and stands twice counts with its last value.
package enum DeviceMessage: Equatable, Sendable {
    case connect(Connect)
    case filter(Filter)
    case notify(UpstreamNotify)
    case notifyAck(NotifyAck)
    /// The device is there; `intervalMinutes` is how often it will say so, if it says.
    case keepAlive(intervalMinutes: Int?)
    case tokenRequest(TokenRequest)
    /// 1 is awake, anything else asleep.
    case setState(UInt8)
    /// A wish for broadcast channels. The channels themselves are not kept.
    case subscribe(index: [UInt8], baseToken: [UInt8])
    /// An extended client gives a registration back.
    case unregister(baseToken: [UInt8]?, topicHash: TopicHash)
    /// A command this server does not know, to be ignored.
    case unknown(UInt8)
}

extension DeviceMessage {
    init(command: UInt8, body: Span<UInt8>) throws(Malformed) {
        self =
            switch Command(rawValue: command) {
            case .connect: .connect(try Connect(body))
            case .filter: .filter(try Filter(body))
            case .notify: .notify(try UpstreamNotify(body))
            case .notifyAck: .notifyAck(try NotifyAck(body))
            case .keepAlive: .keepAlive(intervalMinutes: try readKeepAliveInterval(body))
            case .tokenRequest: .tokenRequest(try TokenRequest(body))
            case .setState: .setState(try readState(body))
            case .subscribe: try readSubscribe(body)
            case .unregister: try readUnregister(body)
            case .connectAck, .keepAliveAck, .noStorage, .tokenAck, .goodbye, .unregisterAck, .tokenGone, nil:
                .unknown(command)
            }
    }

    /// Appends the frame. A `unknown` is written with an empty body.
    package func encode(into output: inout [UInt8]) {
        switch self {
        case .connect(let connect): connect.encode(into: &output)
        case .filter(let filter): filter.encode(into: &output)
        case .notify(let notify): notify.encode(into: &output)
        case .notifyAck(let ack): ack.encode(into: &output)
        case .keepAlive(let minutes):
            output.appendFrame(.keepAlive) { items in
                guard let minutes else { return }
                items.appendItem(KeepAliveItem.interval, intervalBytes(minutes))
            }
        case .tokenRequest(let request): request.encode(into: &output)
        case .setState(let state): output.appendFrame(.setState) { $0.appendItem(StateItem.state, state) }
        case .subscribe(let index, let baseToken):
            output.appendFrame(.subscribe) { items in
                items.appendItem(SubscribeItem.index, index)
                items.appendItem(SubscribeItem.baseToken, baseToken)
            }
        case .unregister(let baseToken, let topicHash):
            output.appendFrame(.unregister) { items in
                if let baseToken { items.appendItem(UnregisterItem.baseToken, baseToken) }
                items.appendItem(UnregisterItem.topicHash, topicHash)
            }
        case .unknown(let command): output.append(contentsOf: [command, 0, 0, 0, 0])
        }
    }
}

private enum KeepAliveItem {
    static let interval: UInt8 = 5
}

private enum StateItem {
    static let state: UInt8 = 1
}

private enum SubscribeItem {
    static let index: UInt8 = 1
    static let baseToken: UInt8 = 3
}

private enum UnregisterItem {
    static let baseToken: UInt8 = 1
    static let topicHash: UInt8 = 2
}

/// The longest interval that is believed. No network lets a connection idle for a day.
private let intervalLimit = 1_440

/// Devices write "20", or the number in two bytes. Two digits read as a number are past the limit, so the two cannot
/// be mixed up. Anything else says nothing.
private func readKeepAliveInterval(_ body: Span<UInt8>) throws(Malformed) -> Int? {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    var minutes: Int?
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        guard item.id == KeepAliveItem.interval, item.value.count == 2 else { continue }
        let (high, low) = (body[item.value.lowerBound], body[item.value.lowerBound + 1])
        if digits.contains(high), digits.contains(low) {
            minutes = Int(high - digits.lowerBound) * 10 + Int(low - digits.lowerBound)
        } else {
            let number = Int(high) << 8 | Int(low)
            minutes = number <= intervalLimit ? number : nil
        }
    }
    return minutes
}

/// As text where two digits are enough, as devices in the field do; else as a number.
private func intervalBytes(_ minutes: Int) -> [UInt8] {
    let zero = UInt8(ascii: "0")
    if (0..<100).contains(minutes) { return [zero + UInt8(minutes / 10), zero + UInt8(minutes % 10)] }
    let bounded = min(max(minutes, 0), intervalLimit)
    return [UInt8(bounded >> 8), UInt8(bounded & 0xff)]
}

private func readState(_ body: Span<UInt8>) throws(Malformed) -> UInt8 {
    var state: UInt8?
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        if item.id == StateItem.state { state = try body.number(item) }
    }
    guard let state else { throw Malformed() }
    return state
}

private func readSubscribe(_ body: Span<UInt8>) throws(Malformed) -> DeviceMessage {
    var (index, baseToken): ([UInt8], [UInt8]) = ([], [])
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        switch item.id {
        case SubscribeItem.index: index = body.bytes(item)
        case SubscribeItem.baseToken: baseToken = body.bytes(item)
        default: break
        }
    }
    return .subscribe(index: index, baseToken: baseToken)
}

private func readUnregister(_ body: Span<UInt8>) throws(Malformed) -> DeviceMessage {
    var (baseToken, topicHash): ([UInt8]?, TopicHash?)
    var reader = ItemReader()
    while let item = try reader.next(in: body) {
        switch item.id {
        case UnregisterItem.baseToken: baseToken = body.bytes(item)
        case UnregisterItem.topicHash: topicHash = try body.topicHash(item)
        default: break
        }
    }
    guard let topicHash else { throw Malformed() }
    return .unregister(baseToken: baseToken, topicHash: topicHash)
}
