import PushCore
import Reactor
import Storage

// A push that takes the place of another may yet be refused, because the store fails or a drain ends. Until it is
// durable or over, one that was answered 200 is neither discarded nor told as such: it comes back with the refusal.
extension Home {
    /// The push that takes the place of one and may yet be refused: the one that is being accepted, or else, for one
    /// that was in flight meanwhile, the newest with its collapse id.
    func unansweredHeir(of push: Push, _ device: DeviceState) -> UInt64? {
        guard !device.unanswered.isEmpty, let heir = accepting ?? device.queue.heir(of: push),
            device.unanswered.contains(heir)
        else { return nil }
        return heir
    }

    /// Keeps a replaced push with the one that took its place. False if that has nothing to wait for, or the replaced
    /// one was not answered: then it ends now.
    func displace(_ queued: QueuedPush, _ cause: DiscardCause, fromStorage: Bool, _ device: DeviceState) -> Bool {
        guard !queued.push.isOnce, !device.unanswered.contains(queued.push.number),
            let heir = unansweredHeir(of: queued.push, device)
        else { return false }
        let displaced = DisplacedPush(queued: queued, cause: cause, fromStorage: fromStorage)
        device.unanswered.displace(displaced, by: heir)
        return true
    }

    /// Ends a push whose place a newer one took that has left the queue. If that one was delivered, nothing brings this
    /// one back; if it gave way itself, to one that may yet be refused, it comes back with it.
    func outlived(_ old: DisplacedPush, by newer: UInt64, _ device: DeviceState, at now: Moment) {
        if device.unanswered.contains(newer) || device.unanswered.displacedNumbers.contains(newer) {
            return carryOut(.discarded(old.queued, old.cause, fromStorage: old.fromStorage), device, at: now)
        }
        metrics.discarded(old.cause)
        record(old.queued.push, Outcome(old.cause, fromStorage: old.fromStorage), device, at: now)
        finish(old.queued.push, device, at: now)
        spares.ended(old.queued)
    }

    /// The heir is durable or over: those whose place it took are, too.
    func endDisplaced(by heir: UInt64, _ device: DeviceState, at now: Moment) {
        for displaced in device.unanswered.takeDisplaced(heir) { end(displaced, device, at: now) }
    }

    /// Takes back a push that is refused, and puts back those whose place it took.
    func withdraw(_ number: UInt64, _ device: DeviceState, at now: Moment) {
        let withdrawal = device.queue.withdraw(number)
        if withdrawal != nil { metrics.held.add(-1) }
        // The newest first: it takes the place of the older ones, as it did before.
        let returning = device.unanswered.takeDisplaced(number).sorted { $0.queued.push.number > $1.queued.push.number }
        for displaced in returning {
            // A newer one has replaced both, and was delivered: this one would come after it.
            if let newer = withdrawal?.successor(to: displaced.queued.push), !device.unanswered.contains(newer),
                device.queue.push(numbered: newer) == nil
            {
                end(displaced, device, at: now)
                continue
            }
            switch device.queue.putBack(displaced.queued, wasStored: displaced.fromStorage) {
            case .waits: break
            case .replaced(let newer) where device.unanswered.contains(newer):
                device.unanswered.displace(displaced, by: newer)
            case .replaced, .unknownRegistration: end(displaced, device, at: now)
            }
        }
    }

    private func end(_ displaced: DisplacedPush, _ device: DeviceState, at now: Moment) {
        metrics.discarded(displaced.cause)
        let outcome = Outcome(displaced.cause, fromStorage: displaced.fromStorage)
        record(displaced.queued.push, outcome, device, at: now)
        metrics.held.add(-1)
        changes.append(.discard(displaced.queued.push.number))
        spares.ended(displaced.queued)
    }
}
