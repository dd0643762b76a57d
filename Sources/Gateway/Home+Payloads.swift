import PushCore
import Reactor
import Storage

// A payload that is not young any more is in the store alone, and comes back when its push is the next to be sent.
extension Home {
    /// Asks for the payloads that a device's queue waits for, unless they are on their way.
    func wantPayloads(_ device: DeviceState, at now: Moment) {
        guard !device.isReading else { return }
        device.isReading = true
        wanted += device.queue.missingPayloads(at: now).map { HeldPush(number: $0, device: device) }
    }

    /// Hands over the pushes whose payloads are wanted: those to name in `read` afterwards.
    func takeWanted() -> [HeldPush] {
        defer { wanted = [] }
        return wanted
    }

    /// The store has read, or failed to: then it is asked again with `readAgain`, and what waits goes on waiting.
    func read(_ pushes: [HeldPush], _ payloads: Result<[[UInt8]?], StoreError>, at now: Moment) {
        guard case .success(let payloads) = payloads else {
            for push in pushes where unread.last !== push.device { unread.append(push.device) }
            return
        }
        for (push, payload) in zip(pushes, payloads) {
            if let payload {
                push.device.queue.load(payload, of: push.number)
            } else {
                push.device.queue.discardLost(push.number, into: &queueEffects)
                apply(push.device, at: now)
            }
        }
        // Once for each device, whose pushes stand together.
        for push in pushes where push.device.isReading {
            push.device.isReading = false
            pump(push.device, at: now)
        }
    }

    /// Asks again for what the store could not give.
    func readAgain(at now: Moment) {
        for device in unread {
            device.isReading = false
            pump(device, at: now)
        }
        unread = []
    }

    /// Leaves to the store what is not young any more.
    func unloadPayloads(_ device: DeviceState, at now: Moment) {
        let before = Moment(nanoseconds: now.nanoseconds - Limits.payloadYouth.nanoseconds)
        device.queue.unloadPayloads(acceptedBefore: before) { !device.unanswered.contains($0) }
    }
}
