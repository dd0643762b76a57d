import Gateway
import PushCore
import Storage
import TestSupport

/// What the gateway has promised, kept as plainly as it is promised, and the check of what it does against it.
struct Model {
    let policy: QueuePolicy
    let devices: [DeviceID]
    var pushes: [KnownPush] = []
    /// Serials by the gateway's numbers.
    var serials: [UInt64: Int] = [:]
    /// Serials with one collapse id of one registration, in the order of their acceptance.
    var chains: [Slot: [Int]] = [:]
    private var places: [DeviceID: Int]
    var seen: [SeenQueue]
    /// Pushes that are over, and of which the store may still know, or of what they replaced.
    var ending: [Int] = []
    /// When the store was turned last.
    var turnedAt = Moment(nanoseconds: 0)
    /// By then the store has been told what became of a push, and of what it replaced: late writes wait less.
    static let settling = Interval.seconds(1)
    var turn = 0
    /// The last turn after which a store's failure may have brought something back.
    var troubledIn = -100
    /// Until then the store may be behind, because it failed.
    var troubledUntil = Moment(nanoseconds: 0)

    /// What took another's place may just have been taken back.
    private var isTroubled: Bool { turn - troubledIn < 40 }

    /// Where only the newest counts: one collapse id of one registration.
    struct Slot: Hashable {
        let registration: UInt64
        let collapseID: Int
    }

    init(policy: QueuePolicy, devices: [DeviceID]) {
        self.policy = policy
        self.devices = devices
        places = Dictionary(uniqueKeysWithValues: devices.enumerated().map { ($1, $0) })
        seen = Array(repeating: SeenQueue(), count: devices.count)
    }

    subscript(number: UInt64) -> KnownPush? { serials[number].map { pushes[$0] } }

    func place(of device: DeviceID) -> Int? { places[device] }

    // MARK: What the outside says and hears

    mutating func offer(device: Int, topic: Int, collapseID: Int, payloadCount: Int) -> Int {
        let serial = pushes.count
        pushes.append(
            KnownPush(
                serial: serial,
                device: device,
                topic: topic,
                collapseID: collapseID,
                payloadCount: payloadCount
            )
        )
        return serial
    }

    mutating func answered(_ serial: Int, _ status: Int) throws(Complaint) {
        let push = pushes[serial]
        switch status {
        case 200:
            guard push.state != .offered else { throw complaint("is promised but was never received", serial) }
            guard push.state != .gone else { throw complaint("is promised but was taken back", serial) }
            pushes[serial].isPromised = true
        case 429 where push.state == .held: throw complaint("is refused and held all the same", serial)
        case 410, 429, 503: break
        default: throw complaint("is good and was refused with \(status)", serial)
        }
    }

    mutating func acknowledged(_ serial: Int, status: UInt8) {
        if status == 0 { pushes[serial].isAcknowledged = true } else { pushes[serial].isRefused = true }
    }

    /// A notification has come to a device.
    func notified(_ serial: Int, _ id: UInt32, payloadCount: Int, on device: Int) throws(Complaint) {
        guard serial < pushes.count else { throw Complaint("a device was sent what nobody offered", device: device) }
        let push = pushes[serial]
        guard push.device == device else { throw complaint("was sent to device \(device)", serial) }
        guard push.state != .offered else { throw complaint("was sent before it was received", serial) }
        guard UInt32(truncatingIfNeeded: push.number) == id else { throw complaint("has the id of another", serial) }
        guard push.payloadCount == payloadCount else { throw complaint("has lost a part of its payload", serial) }
    }

    // MARK: What the gateway tells

    mutating func happened(_ events: [DeliveryEvent], at now: Moment) throws(Complaint) {
        turn += 1
        for event in events {
            if event.state == .received { try received(event) } else { try changed(event, at: now) }
        }
    }

    private mutating func received(_ event: DeliveryEvent) throws(Complaint) {
        guard let push = event.push, let serial = serialNumber(push.apnsID) else {
            throw Complaint("a push was received that nobody offered")
        }
        guard pushes[serial].state == .offered else { throw complaint("is received twice", serial) }
        pushes[serial].state = .held
        pushes[serial].number = push.number
        pushes[serial].registration = push.registration
        pushes[serial].priority = push.priority
        pushes[serial].expires = push.expires
        pushes[serial].acceptedAt = push.acceptedAt
        pushes[serial].receivedIn = turn
        serials[push.number] = serial
        let collapseID = pushes[serial].collapseID
        if collapseID > 0 {
            chains[Slot(registration: push.registration, collapseID: collapseID), default: []] += [serial]
        }
    }

    private mutating func changed(_ event: DeliveryEvent, at now: Moment) throws(Complaint) {
        guard let serial = serials[event.number] else { throw Complaint("push \(event.number) is nobody's") }
        let push = pushes[serial]
        guard push.state == .held else {
            throw complaint("becomes \(event.state.rawValue) after it was \(push.state)", serial)
        }
        guard event.state.isFinal else { return }
        if let cause = event.cause {
            try judge(cause, of: push, at: event.at)
            pushes[serial].state = .discarded(cause)
        } else {
            guard push.isAcknowledged else { throw complaint("is delivered but was not acknowledged", serial) }
            pushes[serial].state = .delivered
        }
        // Not when it happened: what a turn does at its end is seen, and given to the store, with the next.
        pushes[serial].endedAt = now
        ending.append(serial)
    }

    /// Whether a push may be discarded for a cause.
    private func judge(_ cause: DiscardCause, of push: KnownPush, at now: Moment) throws(Complaint) {
        switch cause {
        case .expired:
            guard push.expires <= now else { throw complaint("is discarded before it expired", push.serial) }
        case .collapsed:
            guard hasHeir(push) else { throw complaint("is collapsed with nothing newer", push.serial) }
        case .refused:
            guard push.isRefused else { throw complaint("is refused but the device did not say so", push.serial) }
        case .queueFull, .unregistered, .disabled, .undeliverable: break
        }
    }

    /// The newest push that took the place of this one.
    private func newer(than push: KnownPush, where isThere: (KnownPush) -> Bool) -> KnownPush? {
        guard push.collapseID > 0, !push.isForgotten else { return nil }
        let slot = Slot(registration: push.registration, collapseID: push.collapseID)
        for serial in (chains[slot] ?? []).reversed() {
            let other = pushes[serial]
            guard other.number > push.number else { return nil }
            // Sent, acknowledged and never written before a crash: nothing is left that could tell of it.
            if other.isForgotten { continue }
            switch other.state {
            // Never sent and never stored: it replaces nothing that was in flight.
            case .discarded(.disabled), .gone, .offered: continue
            case .discarded(.expired) where other.isOnce: continue
            // It gave way before it was promised, to one that may have been refused with it.
            case .discarded(.collapsed) where !other.isPromised, .discarded(.queueFull) where !other.isPromised:
                continue
            case .held, .delivered, .discarded: if isThere(other) { return other }
            }
        }
        return nil
    }

    /// Whether a newer push took its place, and is not lost.
    func hasHeir(_ push: KnownPush) -> Bool {
        let slot = Slot(registration: push.registration, collapseID: push.collapseID)
        return (chains[slot] ?? []).contains { serial in
            pushes[serial].number > push.number && (pushes[serial].state != .gone || pushes[serial].isOnce)
        }
    }

    // MARK: What can be seen after a turn

    /// Compares a device's queue with what it was; `isQuiet` says that the device has said nothing that would change
    /// what it may be sent.
    mutating func check(_ device: Int, isQuiet: Bool, at now: Moment, _ gateway: HandTurnedGateway) throws(Complaint) {
        guard let queue = gateway.queue(of: devices[device]) else { return }
        let before = seen[device]
        guard queue.heldCount > 0 || !before.flights.isEmpty else {
            seen[device] = look(at: queue, device, gateway)
            return
        }
        var after = look(at: queue, device, gateway)
        var sent: [KnownPush] = []
        var failure: Complaint?
        queue.eachFlight { push, deadline, resends in
            let flight = SeenQueue.Flight(number: push.number, deadline: deadline, resends: resends)
            if after.flights.contains(where: { $0.number == push.number }) {
                failure = failure ?? Complaint("push \(push.number) is in flight twice", device: device)
            }
            after.flights.append(flight)
            if before.flights.contains(flight) { return }
            do throws(Complaint) {
                if let push = try judge(flight, before, at: now, gateway) { sent.append(push) }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        guard after.flights.count <= policy.window else {
            throw Complaint(
                "\(after.flights.count) pushes are in flight, \(policy.window) are the most",
                device: device
            )
        }
        seen[device] = after
        let isSame = before.session == after.session && before.isAwake == after.isAwake && before.modes == after.modes
        guard isQuiet, isSame else { return }
        if !sent.isEmpty { try checkOrder(sent, queue) }
        try checkLimits(device, queue)
    }

    private func look(at queue: DeviceQueue, _ device: Int, _ gateway: HandTurnedGateway) -> SeenQueue {
        SeenQueue(session: gateway.session(of: devices[device]), isAwake: queue.isAwake, modes: queue.modes)
    }

    /// Whether what was sent, for the first time in its session or again, may be. Returns it if it is the first time.
    private func judge(
        _ flight: SeenQueue.Flight,
        _ before: SeenQueue,
        at now: Moment,
        _ gateway: HandTurnedGateway
    ) throws(Complaint) -> KnownPush? {
        guard let serial = serials[flight.number] else { throw Complaint("push \(flight.number) is nobody's") }
        let push = pushes[serial]
        let last = before.flights.first { $0.number == flight.number }
        // A deadline that was moved for a topic that is not enabled any more.
        if let last, last.resends == flight.resends, flight.deadline != now + policy.acknowledgementTimeout {
            return nil
        }
        if let last, last.resends == flight.resends, last.deadline <= now { return nil }
        guard push.state == .held else { throw complaint("is sent after it was \(push.state)", serial) }
        guard push.isOnce ? push.acceptedAt == now : push.expires > now else {
            throw complaint("is sent although it has expired", serial)
        }
        guard flight.resends <= Limits.resends else { throw complaint("is sent again too often", serial) }
        let newer = newer(than: push) { $0.state != .held || gateway.holds($0.number, for: devices[push.device]) }
        if let newer, newer.receivedIn < turn {
            throw complaint("is sent although \(newer.serial) has replaced it", serial)
        }
        return flight.resends == 0 ? push : nil
    }

    /// Nothing that was sent in one turn may have overtaken what it had to follow.
    private func checkOrder(_ sent: [KnownPush], _ queue: DeviceQueue) throws(Complaint) {
        // What was taken back leaves its place to what it had replaced, whatever was sent meanwhile.
        guard !isTroubled else { return }
        for (first, second) in zip(sent, sent.dropFirst()) {
            if second.receivedIn < turn, mustGoBefore(second, first), mayFollow(second, queue) {
                throw complaint("was overtaken by \(first.serial) (priority \(first.priority.rawValue))", second.serial)
            }
        }
        guard let last = sent.last else { return }
        var overtaken: KnownPush?
        queue.eachWaiting { push in
            guard let serial = serials[push.number] else { return }
            let waiting = pushes[serial]
            guard waiting.receivedIn < turn, waiting.expires > waiting.acceptedAt else { return }
            if mustGoBefore(waiting, last), mayFollow(waiting, queue) { overtaken = waiting }
        }
        if let overtaken { throw complaint("waits although \(last.serial) was sent", overtaken.serial) }
    }

    private func mustGoBefore(_ a: KnownPush, _ b: KnownPush) -> Bool {
        (b.priority.rawValue, a.number) < (a.priority.rawValue, b.number)
    }

    /// Whether nothing but its place in the order decides when a push goes.
    private func mayFollow(_ push: KnownPush, _ queue: DeviceQueue) -> Bool {
        queue.mode(of: push.registration).delivers && (push.priority == .immediate || queue.isAwake == true)
    }

    /// No registration holds more than its limit once a push was added to it.
    private func checkLimits(_ device: Int, _ queue: DeviceQueue) throws(Complaint) {
        guard !isTroubled else { return }
        for push in pushes.suffix(64) where push.device == device && push.receivedIn == turn && !push.isOver {
            guard let count = queue.waitingCount(of: push.registration) else { continue }
            if queue.mode(of: push.registration).delivers {
                // What is tried once never waits, and what replaces another takes no place.
                guard push.collapseID == 0, !push.isOnce, count > policy.backlog else { continue }
                throw complaint("is one of \(count) that wait, \(policy.backlog) are the most", push.serial)
            } else if policy.mode == .queue, count > policy.limit {
                throw complaint("is one of \(count) that are stored, \(policy.limit) are the most", push.serial)
            }
        }
    }

    func complaint(_ what: String, _ serial: Int) -> Complaint {
        let push = pushes[serial]
        let which = "push \(serial) (number \(push.number), priority \(push.priority.rawValue))"
        let whose = "device \(push.device), topic \(push.topic)"
        return Complaint("\(which) of \(whose), \(what)", device: push.device, serial: serial)
    }
}

/// The id that a provider gives its push: the serial in its last digits.
func apnsID(_ serial: Int) -> String {
    let digits = String(serial, radix: 16)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
}

private func serialNumber(_ id: UUIDText) -> Int? { Int(id.description.suffix(12), radix: 16) }
