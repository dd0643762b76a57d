import PushCore
import Storage
import Wire

// What a device with a session asks for.
extension Loop {
    func obey(_ message: DeviceMessage, _ connection: DeviceConnection, _ device: DeviceState, _ link: SessionLink) {
        switch message {
        case .notifyAck(let ack):
            // Its end moves no deadline nearer, and there is one for each push: no `rearm`.
            guard let id = ack.id else { return }
            home.acknowledge(device, id, status: ack.status, at: now)
            return carryOutEffects()
        case .filter(let filter): obey(filter, connection, device)
        case .tokenRequest(let request): obey(request, connection, device)
        case .keepAlive(let minutes):
            if let minutes { announceInterval(minutes, connection) }
            say(.keepAliveAck, connection)
        case .setState(let state):
            home.setAwake(device, state == 1, at: now)
            carryOutEffects()
        case .notify(let upstream):
            // Messages from devices are not offered: 3 says so without ending the session.
            let token = device.record?.baseToken.bytes ?? upstream.token
            say(.notifyAck(token: token, messageID: upstream.messageID, status: 3), connection)
        case .subscribe(let index, let token):
            say(.subscribeAck(index: index, token: token, status: 2), connection)
        case .unregister(_, let hash): unregister(hash, connection, device)
        case .connect:
            // One device per connection; a second Connect of a Mac's other user is not known here.
            fault(connection, "a second Connect")
        case .unknown: break
        }
        rearm(connection)
    }

    /// Twice the announced interval, if that is longer than the setting.
    private func announceInterval(_ minutes: Int, _ connection: DeviceConnection) {
        let announced = Interval.seconds(Int64(min(max(minutes, 0), 24 * 60)) * 120)
        connection.idleLimit = max(config.deviceIdleTimeout, announced)
    }

    private func obey(_ filter: Filter, _ connection: DeviceConnection, _ device: DeviceState) {
        var modes: [TopicHash: TopicMode] = [:]
        // Listed twice, the list that delivers more counts; so the strongest is written last.
        for hash in filter.ignored { modes[hash] = .ignored }
        for hash in filter.paused { modes[hash] = .paused }
        for hash in filter.opportunistic { modes[hash] = .opportunistic }
        for hash in filter.nonWaking { modes[hash] = .enabled }
        for hash in filter.enabled { modes[hash] = .enabled }
        guard modes.count <= Limits.filterTopics else { return fault(connection, "too many topics in a Filter") }
        connection.updateRoom()
        let isEmpty = home.filter(device, modes, at: now)
        // Said before the notifications the Filter releases are framed, and before any later TokenAck.
        if isEmpty { say(.noStorage(token: device.record?.baseToken.bytes ?? []), connection) }
        carryOutEffects()
    }

    private func obey(_ request: TokenRequest, _ connection: DeviceConnection, _ device: DeviceState) {
        guard let topic = catalog.topicsByHash[request.topicHash] else {
            return acknowledge(request, nil, connection, reason: "UnknownTopic")
        }
        if let known = home.registration(device, topic) {
            return known.isDurable ? acknowledge(request, known, connection) : wait(for: known, request, connection)
        }
        let mode = connection.link?.modes[topic.hash] ?? .unlisted
        guard let made = home.register(device, topic, mode, at: now) else {
            return acknowledge(request, nil, connection, reason: "TooManyRegistrations")
        }
        // The token leaves only once it would survive a crash.
        connection.isWaitingForStore = true
        let token = connection.token
        whenDurable { loop, error in loop.registered(request, made, token, error) }
    }

    /// An earlier session asked for the same, or an operator, and the store has not taken it yet.
    private func wait(for known: RegistrationState, _ request: TokenRequest, _ connection: DeviceConnection) {
        connection.isWaitingForStore = true
        let token = connection.token
        // Said again, so that there is something to wait for.
        home.changes.append(.save(known.record))
        whenDurable { loop, _ in
            let isGood = known.isDurable && known.record.state == .active
            loop.answer(request, isGood ? known : nil, token)
        }
    }

    private func registered(_ request: TokenRequest, _ made: RegistrationState, _ token: UInt64, _ error: StoreError?) {
        if error != nil { home.takeBack(made, at: now) }
        answer(request, error == nil ? made : nil, token)
    }

    private func answer(_ request: TokenRequest, _ registration: RegistrationState?, _ token: UInt64) {
        guard case .device(let connection) = connections[token] else { return }
        connection.isWaitingForStore = false
        acknowledge(request, registration, connection, reason: registration == nil ? "ServiceUnavailable" : nil)
        resume(connection)
    }

    private func acknowledge(
        _ request: TokenRequest,
        _ registration: RegistrationState?,
        _ connection: DeviceConnection,
        reason: String? = nil
    ) {
        let none = [UInt8](repeating: 0, count: DeviceToken.usualCount)
        say(
            .tokenAck(
                status: registration == nil ? 2 : 0,
                token: registration?.record.token.bytes ?? none,
                topicHash: request.topicHash,
                appID: request.appID,
                reason: connection.isExtended ? reason : nil,
                retrySeconds: nil
            ),
            connection
        )
    }

    private func unregister(_ hash: TopicHash, _ connection: DeviceConnection, _ device: DeviceState) {
        guard connection.isExtended else { return }
        let registration = catalog.topicsByHash[hash].flatMap { home.registration(device, $0) }
        if let registration { home.revoke(registration, at: now) }
        // It was the device's own wish: it is answered, not told of it again.
        home.effects.removeAll {
            if case .tokenGone = $0 { true } else { false }
        }
        carryOutEffects()
        say(.unregisterAck(status: registration == nil ? 2 : 0, hash: hash), connection)
    }
}
