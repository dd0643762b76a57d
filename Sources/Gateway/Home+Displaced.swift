import PushCore
import Reactor
import Storage

// A push that takes the place of another may yet be refused, because the store fails or a drain ends. Until it is
// durable or over, one that was answered 200 is neither discarded nor told as such: it comes back with the refusal.
extension Home {
    /// Keeps a replaced push with the one that is being accepted. False if that has nothing to wait for, or the
    /// replaced one was not answered: then it ends now.
    func displace(_ queued: QueuedPush, _ cause: DiscardCause, fromStorage: Bool, _ device: DeviceState) -> Bool {
        guard let heir = accepting, !queued.push.isOnce, device.unanswered.contains(heir),
            !device.unanswered.contains(queued.push.number)
        else { return false }
        let displaced = DisplacedPush(queued: queued, cause: cause, fromStorage: fromStorage)
        device.unanswered.displace(displaced, by: heir)
        return true
    }

    /// The heir is durable or over: those whose place it took are, too.
    func endDisplaced(by heir: UInt64, _ device: DeviceState, at now: Moment) {
        for displaced in device.unanswered.takeDisplaced(heir) { end(displaced, device, at: now) }
    }

    /// Takes back a push that is refused, and puts back those whose place it took.
    func withdraw(_ number: UInt64, _ device: DeviceState, at now: Moment) {
        if device.queue.withdraw(number) { metrics.held.add(-1) }
        for displaced in device.unanswered.takeDisplaced(number) {
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
