import PushCore
import Reactor
import Storage

// A payload that is not young any more is in the store alone, and comes back when its push is the next to be sent.
extension Home {
    /// Asks for the payloads that a device's queue waits for, unless they are on their way.
    func wantPayloads(_ device: DeviceState, at now: Moment) {
        guard !device.isReading else { return }
        let missing = device.queue.missingPayloads(at: now)
        device.isReading = !missing.isEmpty
        wanted += missing.map { PushAddress(number: $0, device: device) }
    }

    /// Hands over the pushes whose payloads are wanted: those to name in `loaded` or `failedToLoad` afterwards.
    func takeWanted() -> [PushAddress] {
        defer { wanted = [] }
        return wanted
    }

    /// The store has read; nil stands for what it has not got. Returns the numbers of pushes that are lost for that.
    func loaded(_ pushes: [PushAddress], _ payloads: [[UInt8]?], at now: Moment) -> [UInt64] {
        var lost: [UInt64] = []
        for (push, payload) in zip(pushes, payloads) {
            if let payload {
                push.device.queue.load(payload, of: push.number)
            } else if push.device.queue.discardLost(push.number, into: &queueEffects) {
                lost.append(push.number)
                apply(push.device, at: now)
            }
        }
        // Once for each device, whose pushes stand together: what it then asks for is another batch.
        var last: DeviceState?
        for push in pushes where push.device !== last {
            goOn(push.device, at: now)
            last = push.device
        }
        return lost
    }

    /// The store could not be read: what waits goes on waiting until `goOn`.
    func failedToLoad(_ pushes: [PushAddress]) {
        // The pushes of a device stand together.
        for push in pushes where unread.last !== push.device { unread.append(push.device) }
    }

    /// Hands over the devices whose payloads could not be read.
    func takeUnread() -> [DeviceState] {
        defer { unread = [] }
        return unread
    }

    /// Nothing is being read for the device any more: what it still lacks may be asked for.
    func goOn(_ device: DeviceState, at now: Moment) {
        device.isReading = false
        pump(device, at: now)
    }

    /// Leaves to the store what is not young any more.
    func unloadPayloads(_ device: DeviceState, at now: Moment) {
        device.queue.unloadPayloads(acceptedBefore: now - Limits.payloadYouth) { !device.unanswered.contains($0) }
    }
}
