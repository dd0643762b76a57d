import PushCore
import Reactor
import Storage
import TLS
import Wire

// Devices, their sessions and registrations.
extension Home {
    /// Why a device that has proved its key gets no session.
    enum Refusal: Error {
        case notEnrolled
        case replayed
    }

    // MARK: Start

    /// Takes what the store kept for this home.
    func restore(_ device: Device) {
        devices[device.id] = DeviceState(record: device, policy: policy)
    }

    func restore(_ registration: Registration, topic: Topic?) {
        let owner = registration.device.flatMap { devices[$0] } ?? DeviceState(record: nil, policy: policy)
        add(registration, topic: topic, owner: owner)
    }

    /// Takes a push that the store kept; its registration is here. Call in the order of numbers.
    func restore(_ push: Push, for registration: RegistrationState) {
        registration.owner.queue.restore(push)
        metrics.held.add(1)
    }

    @discardableResult
    private func add(_ record: Registration, topic: Topic?, owner: DeviceState) -> RegistrationState {
        let state = RegistrationState(record, topic: topic, owner: owner)
        registrations[record.token] = state
        owner.registrations.append(state)
        if record.state == .active {
            owner.queue.addLane(registration: record.number, app: topic?.appNumber ?? -1)
            metrics.registrations.add(1)
        }
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
        nonce: [UInt8]
    ) throws(Refusal) -> DeviceState {
        guard let device = devices[id], let record = device.record, record.removedAt == nil else { throw .notEnrolled }
        guard device.admit(nonce: nonce, at: link.connectedAt) else { throw .replayed }
        if let older = device.session { effects.append(.endSession(older, reason: "taken over")) }
        device.session = link
        device.lastSeenAt = link.connectedAt
        var asked: [QueueEffect] = []
        device.queue.openSession(isAwake: isAwake, into: &asked)
        run(asked, device, at: link.connectedAt)
        metrics.sessions.add(1)
        return device
    }

    /// The connection of a session is gone. Nothing happens if another has taken over.
    func closeSession(_ device: DeviceState, _ link: SessionLink, at now: Moment) {
        metrics.sessions.add(-1)
        guard device.session === link else { return }
        device.session = nil
        device.lastSeenAt = now
        var asked: [QueueEffect] = []
        device.queue.closeSession(into: &asked)
        run(asked, device, at: now)
    }

    /// A Filter. Returns whether the device must be told that nothing is stored.
    func filter(_ device: DeviceState, _ modes: [TopicHash: TopicMode], at now: Moment) -> Bool {
        var asked: [QueueEffect] = []
        let waits = device.queue.filter(at: now, into: &asked) { number in
            guard let topic = device.registration(numbered: number)?.topic else { return .unlisted }
            return modes[topic.hash] ?? .unlisted
        }
        run(asked, device, at: now)
        pump(device, at: now)
        return !waits
    }

    func acknowledge(_ device: DeviceState, _ messageID: UInt32, status: UInt8, at now: Moment) {
        var asked: [QueueEffect] = []
        device.queue.acknowledge(messageID, status: status, into: &asked)
        run(asked, device, at: now)
        if device.queue.waitingCount > 0 { pump(device, at: now) }
    }

    func setAwake(_ device: DeviceState, _ isAwake: Bool, at now: Moment) {
        device.queue.setAwake(isAwake)
        pump(device, at: now)
    }

    /// Time passed: resends, and low priorities whose wait is over.
    func tick(_ device: DeviceState, at now: Moment) {
        var asked: [QueueEffect] = []
        device.queue.resend(at: now, into: &asked)
        run(asked, device, at: now)
        pump(device, at: now)
    }

    // MARK: Registrations

    /// The device's active registration for the topic, if it has one.
    func registration(_ device: DeviceState, _ topic: Topic) -> RegistrationState? {
        device.registrations.first { $0.record.topic == topic.name && $0.record.state == .active }
    }

    /// Makes a registration for a device. It counts once its change is durable. nil when the device has too many.
    func register(
        _ device: DeviceState,
        _ topic: Topic,
        _ mode: TopicMode,
        at now: Moment
    ) -> RegistrationState? {
        let active = device.registrations.count { $0.record.state == .active }
        guard let id = device.record?.id, active < Limits.registrationsPerDevice else { return nil }
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
        device.queue.setMode(mode, of: record.number)
        return registration
    }

    /// Adds a registration that an operator asked for.
    func adopt(_ record: Registration, topic: Topic) {
        let owner = record.device.flatMap { devices[$0] } ?? DeviceState(record: nil, policy: policy)
        add(record, topic: topic, owner: owner)
        changes.append(.save(record))
    }

    /// Ends a registration: its pushes are discarded and its token answers 410 from now on.
    func revoke(_ registration: RegistrationState, as state: Registration.State = .unregistered, at now: Moment) {
        guard registration.record.state == .active else { return }
        let device = registration.owner
        var asked: [QueueEffect] = []
        device.queue.revoke(registration: registration.record.number, into: &asked)
        run(asked, device, at: now)
        registration.record.state = state
        registration.record.revokedAt = now
        metrics.registrations.add(-1)
        changes.append(.save(registration.record))
        if let session = device.session { effects.append(.tokenGone(session, registration)) }
    }

    /// Discards what expired, and forgets tokens that have been dead for a year.
    func sweep(at now: Moment) {
        for device in Array(devices.values) + orphans where device.queue.heldCount > 0 {
            var asked: [QueueEffect] = []
            device.queue.dropExpired(at: now, into: &asked)
            run(asked, device, at: now)
        }
        var dead = registrations.values.filter { $0.record.revokedAt != nil }
        dead.sort { ($0.record.revokedAt ?? now) < ($1.record.revokedAt ?? now) }
        let surplus = max(0, dead.count - Limits.revokedCount)
        for (index, registration) in dead.enumerated() {
            guard let revokedAt = registration.record.revokedAt else { continue }
            guard index < surplus || now - revokedAt > Limits.revokedMemory else { break }
            forget(registration)
        }
    }

    /// When the oldest push that is held was accepted.
    var oldestHeld: Moment? {
        guard metrics.held.value > 0 else { return nil }
        return (Array(devices.values) + orphans).compactMap { $0.queue.heldCount > 0 ? $0.queue.oldest : nil }.min()
    }

    private func forget(_ registration: RegistrationState) {
        registrations.removeValue(forKey: registration.record.token)
        registration.owner.registrations.removeAll { $0 === registration }
        changes.append(.forget(registration: registration.record.number))
    }

    private func run(_ asked: [QueueEffect], _ device: DeviceState, at now: Moment) {
        for effect in asked { carryOut(effect, device, at: now) }
    }
}

/// A token of the usual length. Its first two bytes are its device's, so that any loop can name its home.
func makeToken(bucket: UInt16) -> DeviceToken {
    let random = SecureRandom.bytes(DeviceToken.usualCount - 2)
    guard let token = DeviceToken([UInt8(bucket >> 8), UInt8(truncatingIfNeeded: bucket)] + random) else {
        preconditionFailure("32 bytes are a token")
    }
    return token
}
