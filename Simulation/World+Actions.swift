import Gateway
import PushCore
import TestSupport
import Wire

// What may happen in a step.
extension World {
    func act(_ action: Circumstances.Action) throws {
        let device = random.pick(devices)
        switch action {
        case .push: try push()
        case .burst: for _ in 0..<Int.random(in: 2...40, using: &random) { try push() }
        case .acknowledge: acknowledge(random.pick(waiting(device)))
        case .refuse: refuse(random.pick(waiting(device)))
        case .connect: try comeBack(device)
        case .leave: leave(device)
        case .cut: cut(device)
        case .deafen: try random.once(in: 3) ? abandon(device) : deafen(device, device.link?.isDeaf == false)
        case .filter: filter(device)
        case .wake: if device.isConnected { device.say(.setState(random.pick([1, 1, 2])), isControl: true) }
        case .askToken: ask(device, random.pick(Array(SimulatedTopics.names.indices)))
        case .unregister: unregister(device)
        case .keepAlive: if device.isConnected { device.say(.keepAlive(intervalMinutes: 20)) }
        case .reconnectProvider: try reconnect()
        case .pass: pass(random.pick([10, 50, 100, 500, 1_000, 3_000, 11_000]))
        case .passLong: pass(random.pick([31_000, 61_000, 61_000, 600_000, 3_700_000]))
        case .failStore: disk.fail(next: random.pick([1, 1, 2, 5]))
        case .holdStore: heldStoreTurns = random.pick([2, 5, 30])
        case .revoke:
            let token = random.pick(device.tokens)
            if let token, let token = DeviceToken(token) { gateway.revoke(token) }
        case .crash: if random.once(in: 3) { try restart(losingLast: random.once(in: 2)) }
        case .restart: if random.once(in: 3) { try endGracefully() }
        }
    }

    func pass(_ milliseconds: Int64) {
        clock.advance(by: .milliseconds(milliseconds))
        note("time passes", -1, Int(milliseconds))
    }

    // MARK: Providers

    private func push() throws {
        let place = Int.random(in: 0..<providers.count, using: &random)
        let provider = providers[place]
        if provider.link == nil { return try connect(place) }
        let device = random.pick(devices)
        let topic = Int.random(in: 0..<SimulatedTopics.names.count, using: &random)
        guard let token = device.tokens[topic] else { return }
        let size = random.once(in: 8) ? Int.random(in: 32...4_096, using: &random) : 48
        guard provider.mayPush(bodyCount: size) else { return }
        let collapseID = random.pick([0, 0, 1, 2])
        let serial = model.offer(device: device.index, topic: topic, collapseID: collapseID, payloadCount: size)
        var headers = [("apns-id", apnsID(serial)), ("apns-priority", random.pick(["10", "10", "5", "1"]))]
        if collapseID > 0 { headers.append(("apns-collapse-id", "collapse-\(collapseID)")) }
        let ages: [Int64?] = [nil, nil, nil, 3_600, 3_600, 60, 5, 1, 0, -5]
        if let age = random.pick(ages) {
            headers.append(("apns-expiration", age == 0 ? "0" : "\(now.seconds + age)"))
        }
        let request = SimulatedProvider.Request(
            serial: serial,
            token: token,
            topic: topic,
            headers: headers,
            body: payload(serial, count: size)
        )
        note("offer", device.index, serial, topic)
        try provider.push(request, identity, at: now)
    }

    private func reconnect() throws {
        let place = Int.random(in: 0..<providers.count, using: &random)
        if let link = providers[place].link {
            if random.once(in: 2) { link.finish() } else { link.cut() }
            try providers[place].use(nil)
        }
        try connect(place)
    }

    // MARK: Devices

    /// A device that has something to acknowledge, if there is one at or after `device`.
    private func waiting(_ device: SimulatedDevice) -> [SimulatedDevice] {
        for place in 0..<devices.count {
            let other = devices[(device.index + place) % devices.count]
            if !other.inbox.isEmpty { return [other] }
        }
        return [device]
    }

    func acknowledge(_ device: SimulatedDevice) {
        guard device.isConnected else { return }
        for _ in 0..<Int.random(in: 1...4, using: &random) where !device.inbox.isEmpty {
            let isFirst = !random.once(in: 4)
            let place = isFirst ? 0 : Int.random(in: 0..<device.inbox.count, using: &random)
            acknowledge(device, device.inbox.remove(at: place), status: 0)
        }
    }

    func acknowledge(_ device: SimulatedDevice, _ received: SimulatedDevice.Received, status: UInt8) {
        note("acknowledge", device.index, received.serial, Int(status))
        model.acknowledged(received.serial, status: status)
        device.say(.notifyAck(NotifyAck(id: received.id, status: status)), isControl: status != 0)
    }

    private func refuse(_ device: SimulatedDevice) {
        guard device.isConnected, !device.inbox.isEmpty else { return }
        acknowledge(device, device.inbox.removeFirst(), status: random.pick([1, 1, 1, 2]))
    }

    private func comeBack(_ device: SimulatedDevice) throws {
        if device.link == nil { return try connect(device) }
        // From another network, before the gateway knows that the old one is gone.
        guard random.once(in: 16) else { return }
        try abandon(device)
        try connect(device)
    }

    private func leave(_ device: SimulatedDevice) {
        guard let link = device.link else { return }
        link.finish()
        drop(device)
    }

    private func cut(_ device: SimulatedDevice) {
        device.link?.cut()
        if device.link != nil { drop(device) }
    }

    private func ask(_ device: SimulatedDevice, _ topic: Int) {
        guard device.isConnected else { return }
        device.say(.tokenRequest(TokenRequest(topicHash: SimulatedTopics.hashes[topic])), isControl: true)
    }

    private func unregister(_ device: SimulatedDevice) {
        guard device.isConnected, device.isExtended else { return }
        let hash = random.pick(SimulatedTopics.hashes)
        device.say(.unregister(baseToken: nil, topicHash: hash), isControl: true)
    }

    private func filter(_ device: SimulatedDevice) {
        guard device.isConnected else { return }
        var filter = Filter()
        for hash in SimulatedTopics.hashes {
            switch Int.random(in: 0..<12, using: &random) {
            case 0: filter.opportunistic.append(hash)
            case 1: filter.paused.append(hash)
            case 2: filter.ignored.append(hash)
            case 3: filter.nonWaking.append(hash)
            case 4: break
            default: filter.enabled.append(hash)
            }
        }
        note("filter", device.index, filter.enabled.count, filter.ignored.count)
        device.say(.filter(filter), isControl: true)
    }

    /// Takes every topic.
    func enableAll(_ device: SimulatedDevice) {
        device.say(.filter(Filter(enabled: SimulatedTopics.hashes)), isControl: true)
    }

    /// What the gateway has said to a device.
    func hear(_ message: ServerMessage, _ device: SimulatedDevice) throws(Complaint) {
        switch message {
        case .connectAck(let ack):
            note("connected", device.index, Int(ack.status))
            guard ack.status == 0 else { return }
            device.isConnected = true
            for topic in SimulatedTopics.names.indices where device.tokens[topic] == nil { ask(device, topic) }
            if random.once(in: 4) { filter(device) } else { enableAll(device) }
        case .tokenAck(let status, let token, let hash, _, _, _):
            guard status == 0, let topic = SimulatedTopics.hashes.firstIndex(of: hash) else { return }
            note("token", device.index, topic)
            device.tokens[topic] = token
        case .notify(let notify):
            guard let serial = serial(of: notify.payload) else {
                throw Complaint("a device was sent a payload that nobody offered", device: device.index)
            }
            note("notified", device.index, serial, Int(notify.storageFlags))
            try model.notified(serial, notify.messageID, payloadCount: notify.payload.count, on: device.index)
            device.inbox.append(SimulatedDevice.Received(id: notify.messageID, serial: serial))
        case .tokenGone(let hash, _), .unregisterAck(_, let hash):
            guard let topic = SimulatedTopics.hashes.firstIndex(of: hash) else { return }
            device.tokens[topic] = nil
            note("token gone", device.index, topic)
            ask(device, topic)
        case .noStorage, .notifyAck, .keepAliveAck, .subscribeAck, .goodbye, .unknown: break
        }
    }
}

/// A JSON object of `count` bytes that names the push.
private func payload(_ serial: Int, count: Int) -> [UInt8] {
    let start = #"{"n":\#(serial),"p":""#
    let filling = [UInt8](repeating: UInt8(ascii: "x"), count: max(0, count - start.utf8.count - 2))
    return Array(start.utf8) + filling + Array(#""}"#.utf8)
}

private func serial(of payload: [UInt8]) -> Int? {
    Int(String(decoding: payload.dropFirst(5).prefix { $0 != UInt8(ascii: ",") }, as: UTF8.self))
}
