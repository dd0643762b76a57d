import PushCore
import Reactor
import Storage
import TLS
import Wire

// Devices, their sessions and registrations.
extension Home {
    /// Why a device that has proved its key gets no session.
    enum Refusal: Error, Equatable {
        case notEnrolled
        case replayed
        /// Its sessions end by faults; for how long it is refused.
        case quarantined(Interval)
    }

    // MARK: Start

    /// Takes what the store kept for this home.
    func restore(_ device: Device) {
        devices[device.id] = DeviceState(record: device, policy: policy)
    }

    func restore(_ registration: Registration, topic: Topic?) {
        add(registration, topic: topic, owner: owner(of: registration))
    }

    /// Takes a push that the store kept; its registration is here. Call in the order of numbers.
    func restore(_ push: Push, for registration: RegistrationState) {
        guard registration.record.state == .active else { return changes.append(.discard(push.number)) }
        metrics.held.add(1)
        holders.add(registration.owner)
        registration.owner.queue.restore(QueuedPush(push), into: &queueEffects)
        // What it replaced was replaced when it came.
        apply(registration.owner, at: push.acceptedAt)
    }

    /// The device of a registration, or one that exists only for it.
    private func owner(of record: Registration) -> DeviceState {
        record.device.flatMap { devices[$0] } ?? DeviceState(record: nil, policy: policy)
    }

    @discardableResult
    private func add(_ record: Registration, topic: Topic?, owner: DeviceState) -> RegistrationState {
        let state = RegistrationState(record, topic: topic, owner: owner)
        registrations[record.token] = state
        guard record.state == .active else {
            ended.add(state)
            return state
        }
        owner.registrations.append(state)
        owner.queue.addLane(registration: record.number, app: topic?.appNumber ?? -1)
        metrics.registrations.add(1)
        return state
    }

    // MARK: Enrolment

    /// Adds a device, or gives a known one its new certificate; its base token stays.
    func enroll(_ device: Device) {
        guard let known = devices[device.id], let old = known.record, old.removedAt == nil else {
            restore(device)
            return changes.append(.saveDevice(device))
        }
        let renewed = Device(
            id: device.id,
            name: device.name,
            keyType: device.keyType,
            baseToken: old.baseToken,
            certificateNotAfter: device.certificateNotAfter,
            signer: device.signer,
            createdAt: old.createdAt,
            removedAt: nil
        )
        known.record = renewed
        changes.append(.saveDevice(renewed))
    }

    /// Ends the device's session and all its registrations; its certificate is refused from now on.
    func remove(_ id: DeviceID, at now: Moment) -> Bool {
        guard let device = devices[id], device.record?.removedAt == nil else { return false }
        for registration in device.registrations { revoke(registration, at: now) }
        if let session = device.session { effects.append(.endSession(session, reason: "device removed")) }
        device.record?.removedAt = now
        if let record = device.record { changes.append(.saveDevice(record)) }
        return true
    }

    // MARK: Sessions

    /// Opens a session for a device that has proved its key. An older one is ended; what it had in flight goes here.
    func openSession(
        _ id: DeviceID,
        _ link: SessionLink,
        isAwake: Bool,
        nonce: ConnectNonce
    ) throws(Refusal) -> DeviceState {
        guard let device = devices[id], let record = device.record, record.removedAt == nil else { throw .notEnrolled }
        if let left = quarantine.timeLeft(id, at: link.connectedAt) { throw .quarantined(left) }
        guard device.nonces.admit(nonce, at: link.connectedAt) else { throw .replayed }
        if let older = device.session { effects.append(.endSession(older, reason: "taken over")) }
        device.session = link
        device.lastSeenAt = link.connectedAt
        device.queue.openSession(isAwake: isAwake, into: &queueEffects)
        apply(device, at: link.connectedAt)
        metrics.sessions.add(1)
        return device
    }

    /// The connection of a session is gone. Nothing happens if another has taken over.
    func closeSession(_ device: DeviceState, _ link: SessionLink, at now: Moment) {
        metrics.sessions.add(-1)
        guard device.session === link else { return }
        device.session = nil
        device.lastSeenAt = now
        device.queue.closeSession(into: &queueEffects)
        apply(device, at: now)
    }

    /// A Filter. Returns whether the device must be told that nothing is stored.
    func filter(_ device: DeviceState, _ modes: [TopicHash: TopicMode], at now: Moment) -> Bool {
        device.session?.modes = TopicModes(modes)
        let waits = device.queue.filter(at: now, into: &queueEffects) { number in
            guard let topic = device.registration(numbered: number)?.topic else { return .unlisted }
            return modes[topic.hash] ?? .unlisted
        }
        pump(device, at: now)
        return !waits
    }

    func acknowledge(_ device: DeviceState, _ messageID: UInt32, status: UInt8, at now: Moment) {
        device.queue.acknowledge(messageID, status: status, into: &queueEffects)
        pump(device, at: now)
    }

    func setAwake(_ device: DeviceState, _ isAwake: Bool, at now: Moment) {
        device.queue.setAwake(isAwake)
        pump(device, at: now)
    }

    /// Time passed: resends, and low priorities whose wait is over.
    func tick(_ device: DeviceState, at now: Moment) {
        if let session = device.session {
            device.queue.resend(at: now, room: &session.room, into: &queueEffects)
        }
        pump(device, at: now)
    }

    // MARK: Registrations

    /// The device's active registration for the topic, if it has one.
    func registration(_ device: DeviceState, _ topic: Topic) -> RegistrationState? {
        device.registrations.first { $0.record.topic == topic.name }
    }

    /// Makes a registration for a device. It counts once its change is durable. nil when the device has too many.
    func register(
        _ device: DeviceState,
        _ topic: Topic,
        _ mode: TopicMode,
        at now: Moment
    ) -> RegistrationState? {
        guard let id = device.record?.id, device.registrations.count < Limits.registrationsPerDevice else { return nil }
        let record = Registration(
            number: numbers.nextRegistration(),
            token: makeToken(bucket: id.bucket),
            device: id,
            topic: topic.name,
            createdAt: now,
            state: .active,
            revokedAt: nil
        )
        changes.append(.save(record))
        let registration = add(record, topic: topic, owner: device)
        registration.isDurable = false
        device.queue.setMode(mode, of: record.number)
        return registration
    }

    /// Adds a registration that an operator asked for.
    func adopt(_ record: Registration, topic: Topic) {
        let device = owner(of: record)
        add(record, topic: topic, owner: device).isDurable = false
        // Its session may have named the topic before there was a registration.
        if let mode = device.session?.modes[topic.hash] { device.queue.setMode(mode, of: record.number) }
        changes.append(.save(record))
    }

    /// Ends a registration: its pushes are discarded and its token answers 410 from now on.
    func revoke(_ registration: RegistrationState, as state: Registration.State = .unregistered, at now: Moment) {
        guard registration.record.state == .active else { return }
        let device = registration.owner
        device.queue.revoke(registration: registration.record.number, into: &queueEffects)
        apply(device, at: now)
        registration.record.state = state
        registration.record.revokedAt = now
        device.registrations.removeAll { $0 === registration }
        ended.add(registration)
        metrics.registrations.add(-1)
        changes.append(.save(registration.record))
        if let session = device.session { effects.append(.tokenGone(session, registration)) }
        // What it had in flight leaves places in the window.
        pump(device, at: now)
    }

    /// The store has taken these.
    func written(_ records: [StoreChange]) {
        for case .save(let record) in records {
            guard let known = registrations[record.token], known.record.number == record.number else { continue }
            known.isDurable = true
        }
    }

    /// What to say again of something that could not be written: how it is now, which may have been written meanwhile.
    func current(_ record: StoreChange) -> StoreChange {
        switch record {
        case .save(let old):
            guard let known = registrations[old.token]?.record, known.number == old.number else {
                return .forget(registration: old.number)
            }
            return .save(known)
        case .saveDevice(let old): return .saveDevice(devices[old.id]?.record ?? old)
        case .forget, .append, .discard, .saveApp, .removeApp, .saveKey: return record
        }
    }

    /// Undoes a registration that could not be made durable: nobody was told of its token.
    func takeBack(_ registration: RegistrationState, at now: Moment) {
        revoke(registration, at: now)
        registrations.removeValue(forKey: registration.record.token)
        changes.append(.forget(registration: registration.record.number))
    }

    /// Begins to discard what expired and to leave old payloads to the store, which `sweepPart` does, and forgets
    /// tokens that have been dead for a year.
    func beginSweep(at now: Moment) {
        holders.beginSweep()
        while let registration = ended.takeOldest(at: now, limit: Limits.revokedCount / Int(numbers.stride)) {
            registrations.removeValue(forKey: registration.record.token)
            changes.append(.forget(registration: registration.record.number))
        }
    }

    /// Does a turn's part of a sweep that is not over.
    func sweepPart(at now: Moment) {
        var left = Limits.sweptPerTurn
        while left > 0, let device = holders.next {
            left -= device.queue.heldCount + 1
            device.queue.dropExpired(at: now, into: &queueEffects)
            apply(device, at: now)
            unloadPayloads(device, at: now)
            holders.swept()
        }
    }

    /// When the oldest push that is held was accepted.
    var oldestHeld: Moment? { holders.all.lazy.compactMap(\.queue.oldest).min() }
}

/// A token of the usual length. Its first two bytes are its device's, so that any loop can name its home.
func makeToken(bucket: UInt16) -> DeviceToken {
    let random = SecureRandom.bytes(DeviceToken.usualCount - 2)
    guard let token = DeviceToken([UInt8(bucket >> 8), UInt8(truncatingIfNeeded: bucket)] + random) else {
        preconditionFailure("32 bytes are a token")
    }
    return token
}
