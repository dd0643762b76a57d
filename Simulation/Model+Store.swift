import Gateway
import PushCore
import Storage

// What the model knows of the store, and what must be true after a crash, now and then, and in the end.
extension Model {
    // MARK: The store

    mutating func written(_ changes: [StoreChange], at now: Moment) throws(Complaint) {
        for change in changes {
            switch change {
            case .append(let push):
                guard let serial = serials[push.number] else { throw Complaint("the store was given \(push.number)") }
                pushes[serial].isStored = true
                pushes[serial].storedAt = now
            case .discard(let number):
                if let serial = serials[number] { pushes[serial].isStored = false }
            case .save, .forget, .saveDevice, .saveApp, .removeApp, .saveKey: break
            }
        }
    }

    /// Nothing that is over is still stored.
    var isStoreClean: Bool { ending.allSatisfy { !pushes[$0].isStored } }

    mutating func storeFailed(at now: Moment) {
        troubledIn = turn
        troubledUntil = now + .milliseconds(1_200)
    }

    /// The store was turned: what ended long enough ago must be off it.
    mutating func storeTurned(at now: Moment) throws(Complaint) {
        defer { turnedAt = now }
        guard troubledUntil < now else {
            for serial in ending { pushes[serial].turnsDue = 0 }
            return
        }
        ending.removeAll { !pushes[$0].isStored && pushes[$0].endedAt + Self.settling < turnedAt }
        for serial in ending where pushes[serial].isStored && pushes[serial].endedAt + .milliseconds(60) <= now {
            // The turn that gives it to the store may come after a jump of the clock.
            if pushes[serial].turnsDue == 0 { pushes[serial].dueAt = now + .milliseconds(60) }
            pushes[serial].turnsDue += 1
            if pushes[serial].turnsDue > 6, pushes[serial].dueAt <= now {
                throw complaint("has ended but the store was not told", serial)
            }
        }
    }

    // MARK: Crashes

    /// The process is gone: what the store has is all there is, and whatever it has comes back.
    mutating func crashed() {
        for push in pushes where push.isStored { pushes[push.serial].state = .held }
    }

    /// Another process has begun with it.
    mutating func restarted(
        at now: Moment,
        _ gateway: HandTurnedGateway,
        _ disk: SimulatedDisk
    ) throws(Complaint) {
        turn += 1
        let before = pushes
        let unsettled = Set(ending)
        for push in before {
            let isRecent =
                push.isOver ? unsettled.contains(push.serial) : push.storedAt + Self.settling > turnedAt
            if isRecent || troubledUntil >= now { pushes[push.serial].isForgotten = true }
        }
        // What has expired is deleted when the store is read.
        for push in pushes where push.isStored { pushes[push.serial].isStored = disk.holds(push.number) }
        (ending, troubledUntil, troubledIn) = ([], now, turn)
        seen = Array(repeating: SeenQueue(), count: devices.count)
        // The newest first: whether it is gone decides about those that it replaced.
        for push in before.reversed() where push.state != .offered { try restart(push, at: now, gateway) }
    }

    private mutating func restart(
        _ push: KnownPush,
        at now: Moment,
        _ gateway: HandTurnedGateway
    ) throws(Complaint) {
        let isHeld = gateway.holds(push.number, for: devices[push.device])
        pushes[push.serial].turnsDue = 0
        switch push.state {
        case .held where isHeld: break
        case .held where push.isStored:
            // It expired, was replaced, or its registration has ended: the start sees to it without a word.
            (pushes[push.serial].state, pushes[push.serial].endedAt) = (.discarded(.expired), now)
            ending.append(push.serial)
        case .held where hasHeir(push):
            // It was in flight, not to be sent again, so that the store did not have to keep it.
            (pushes[push.serial].state, pushes[push.serial].endedAt) = (.discarded(.collapsed), now)
        case .held where push.isPromised && !push.isOnce: throw complaint("was promised and is lost", push.serial)
        case .held: pushes[push.serial].state = .gone
        case .discarded(.collapsed) where push.isPromised && !hasHeir(push):
            throw complaint("gave way to one that is lost", push.serial)
        case .offered, .gone, .delivered, .discarded:
            if isHeld { throw complaint("came back from nowhere", push.serial) }
        }
    }

    // MARK: All of it

    /// Everything that is owed is there.
    mutating func checkAll(_ gateway: HandTurnedGateway) throws(Complaint) {
        for push in pushes where push.state == .held {
            let isHeld = gateway.holds(push.number, for: devices[push.device])
            pushes[push.serial].absences = isHeld ? 0 : push.absences + 1
            // Its end may have come with the end of a turn, and be told with the next.
            guard pushes[push.serial].absences > 1 else { continue }
            if push.isPromised, !push.isOnce { throw complaint("was promised and is lost", push.serial) }
            pushes[push.serial].state = .gone
        }
        let held = devices.reduce(0) { $0 + gateway.heldCount(of: $1) }
        guard held == gateway.heldMetric else {
            throw Complaint("\(held) pushes are held and \(gateway.heldMetric) are counted")
        }
        // A frame more than fits may be on its way.
        let most = Limits.unsentBytes + 32 * 1024
        guard gateway.mostUnsent <= most else { throw Complaint("\(gateway.mostUnsent) bytes wait for one device") }
    }

    /// Everything has come to an end: nothing is held, here or in the store.
    func checkEnd(_ gateway: HandTurnedGateway) throws(Complaint) {
        for push in pushes {
            if push.state == .held { throw complaint("never ended", push.serial) }
            if push.isStored { throw complaint("is over but still stored", push.serial) }
        }
        for (place, device) in devices.enumerated() where gateway.unansweredCount(of: device) > 0 {
            throw Complaint("a push of the device was never answered", device: place)
        }
        guard gateway.heldMetric == 0 else { throw Complaint("\(gateway.heldMetric) pushes are counted as held") }
    }
}
