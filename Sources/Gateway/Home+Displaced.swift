import PushCore
import Reactor
import Storage

// A push that takes the place of another may yet be refused, because the store fails or a drain ends. Until it is
// durable or over, one that was answered 200 is neither discarded nor told as such: it comes back with the refusal.
extension Home {
    /// A push has left the queue for newer ones.
    func replaced(_ old: DisplacedPush, _ device: DeviceState, at now: Moment) {
        let push = old.queued.push
        // A newer one that is answered was safe, or ended by an effect that came with this one: that makes it certain.
        guard case .pending(let newer) = old.replacement, let heir = newer.last, !push.isOnce,
            newer.allSatisfy(device.unanswered.contains)
        else { return carryOut(.discarded(old.queued, old.cause, fromStorage: old.fromStorage), device, at: now) }
        guard let waiting = device.unanswered.remove(push.number) else { return device.unanswered.displace(old) }
        // Not answered yet: 200 would promise what only the newest can keep.
        discarded(old, device, at: now)
        if waiting.isSubmitted { changes.append(.discard(push.number)) }
        device.unanswered.leave(waiting, to: heir)
        device.queue.pass(push.number, to: heir)
    }

    /// A push is durable or over: so are those whose place it took.
    func settle(_ number: UInt64, _ device: DeviceState, at now: Moment) {
        for obsolete in device.queue.settle(number) { forget(obsolete, device) }
        for displaced in device.unanswered.settle(number) { end(displaced, device, at: now) }
    }

    /// One in flight is not to be sent again, so that no restart may bring it back. If it is not answered it must be
    /// written for that, and is forgotten when it was (`committed`).
    func forget(_ obsolete: UInt64, _ device: DeviceState) {
        if !device.unanswered.contains(obsolete) { changes.append(.discard(obsolete)) }
    }

    /// Takes back a push that is refused, and puts back those that nothing replaces any more.
    func withdraw(_ number: UInt64, _ device: DeviceState, at now: Moment) {
        if device.queue.withdraw(number) { metrics.held.add(-1) }
        for displaced in device.unanswered.refuse(number) {
            if !device.queue.putBack(displaced.queued, wasStored: displaced.fromStorage) {
                end(displaced, device, at: now)
            }
        }
    }

    /// A push was accepted: what its like displaced is replaced by it, too.
    func supersedeDisplaced(by push: Push, _ device: DeviceState, at now: Moment) {
        guard push.content.hasCollapseID else { return }
        for displaced in device.unanswered.supersede(by: push) { end(displaced, device, at: now) }
    }

    private func end(_ displaced: DisplacedPush, _ device: DeviceState, at now: Moment) {
        discarded(displaced, device, at: now)
        changes.append(.discard(displaced.queued.push.number))
    }

    /// Counts and tells the end of a replaced push.
    private func discarded(_ displaced: DisplacedPush, _ device: DeviceState, at now: Moment) {
        metrics.discarded(displaced.cause)
        let outcome = Outcome(displaced.cause, fromStorage: displaced.fromStorage)
        record(displaced.queued.push, outcome, device, at: now)
        metrics.held.add(-1)
        spares.ended(displaced.queued)
    }
}
