// What a session does to a queue: it opens, filters, wakes, acknowledges, times out, closes.
extension DeviceQueue {
    /// A session opened, or took over: everything unacknowledged waits again, in its old place.
    package mutating func openSession(isAwake: Bool, into effects: inout [QueueEffect]) {
        closeSession(into: &effects)
        self.isAwake = isAwake
    }

    /// The session ended. What it had in flight waits again, unless it was for once or a newer one replaces it.
    package mutating func closeSession(into effects: inout [QueueEffect]) {
        guard hasSession || !flights.isEmpty else { return }
        isAwake = nil
        for index in lanes.indices { lanes[index].mode = .unlisted }
        unmark()
        let ended = flights
        flights.removeAll()
        var back: [Entry] = []
        for flight in ended {
            var entry = flight.entry
            if entry.push.isOnce {
                effects.append(.discarded(entry.push, .expired, fromStorage: false))
            } else if flight.isSuperseded {
                effects.append(.discarded(entry.push, .collapsed, fromStorage: entry.wasStored))
            } else {
                if !entry.wasStored { effects.append(.stored(entry.push, .storedOffline)) }
                entry.wasStored = true
                back.append(entry)
            }
        }
        putBack(back)
    }

    /// A Filter came: `mode` names how each registration is treated from now on. Returns whether something waits for
    /// what it enables; if not, the device is told so.
    package mutating func filter(
        at now: Moment,
        into effects: inout [QueueEffect],
        mode: (UInt64) -> TopicMode
    ) -> Bool {
        guard hasSession else { return false }
        var enabledNow: [UInt64] = []
        for index in lanes.indices {
            let registration = lanes[index].registration
            let new = mode(registration)
            if new.delivers, !lanes[index].mode.delivers { enabledNow.append(registration) }
            lanes[index].mode = new
        }
        dropExpired(at: now, into: &effects)
        for lane in lanes where lane.mode == .ignored && lane.waiting > 0 {
            removeWaiting(.disabled, into: &effects) { $0.push.registration == lane.registration }
        }
        mark(enabledNow)
        return lanes.contains { $0.mode.delivers && $0.waiting > 0 }
    }

    /// One registration was made after the Filter that already names its topic.
    package mutating func setMode(_ mode: TopicMode, of registration: UInt64) {
        guard hasSession, let lane = lanes.firstIndex(where: { $0.registration == registration }) else { return }
        lanes[lane].mode = mode
    }

    /// SetState: nothing else changes whether a device is awake.
    package mutating func setAwake(_ isAwake: Bool) {
        if hasSession { self.isAwake = isAwake }
    }

    /// An acknowledgement; unknown ids are ignored. Non-zero refuses the push, 2 ends its registration too.
    package mutating func acknowledge(_ messageID: UInt32, status: UInt8, into effects: inout [QueueEffect]) {
        guard let index = flights.firstIndex(where: { $0.entry.push.messageID == messageID }) else { return }
        let entry = flights.remove(at: index).entry
        if status == 0 {
            effects.append(.delivered(entry.push, fromStorage: entry.isMarked || entry.wasStored))
            return
        }
        effects.append(.discarded(entry.push, .refused, fromStorage: entry.wasStored))
        if status == 2 { effects.append(.revoked(registration: entry.push.registration)) }
    }

    /// Sends again what was not acknowledged in time, at most three times, then asks for the session's end.
    package mutating func resend(at now: Moment, into effects: inout [QueueEffect]) {
        var index = 0
        var isUnresponsive = false
        while index < flights.count {
            let flight = flights[index]
            guard flight.deadline <= now else {
                index += 1
                continue
            }
            let push = flight.entry.push
            if push.expires <= now {
                discardFlight(at: index, .expired, into: &effects)
            } else if flight.isSuperseded {
                discardFlight(at: index, .collapsed, into: &effects)
            } else if flight.resends < Limits.resends {
                flights[index].resends += 1
                flights[index].deadline = now + policy.acknowledgementTimeout
                effects.append(.resend(push, flight.flag))
                index += 1
            } else {
                isUnresponsive = true
                flights[index].deadline = .distantFuture
                flights[index].entry.exhaustedSessions += 1
                if Int(flights[index].entry.exhaustedSessions) >= Limits.exhaustedSessions {
                    discardFlight(at: index, .undeliverable, into: &effects)
                } else {
                    index += 1
                }
            }
        }
        if isUnresponsive { effects.append(.closeSession) }
    }

    /// When `resend` or `pump` has something to do next without another event. What was due before `now` and did not
    /// go waits for an acknowledgement, not for time.
    package func nextDeadline(after now: Moment) -> Moment? {
        var next = flights.lazy.map(\.deadline).min()
        if isAwake == false {
            for entry in waiting.aware where mode(of: entry.push.registration) == .enabled {
                let due = entry.push.acceptedAt + policy.lowPriorityDelay
                if due > now { next = min(next ?? .distantFuture, due) }
            }
        }
        return next
    }

    /// The registration is gone: nothing of it is sent or acknowledged any more.
    package mutating func revoke(registration: UInt64, into effects: inout [QueueEffect]) {
        removeWaiting(.unregistered, into: &effects) { $0.push.registration == registration }
        while let index = flights.firstIndex(where: { $0.entry.push.registration == registration }) {
            let push = flights.remove(at: index).entry.push
            effects.append(.discarded(push, .unregistered, fromStorage: true))
        }
        lanes.removeAll { $0.registration == registration }
    }

    /// Takes back a push that could not be made durable, unless it was acknowledged. Returns whether it was there.
    package mutating func withdraw(_ push: Push) -> Bool {
        var ignored: [QueueEffect] = []
        removeWaiting(.expired, into: &ignored) { $0.push === push }
        if !ignored.isEmpty { return true }
        guard let index = flights.firstIndex(where: { $0.entry.push === push }) else { return false }
        flights.remove(at: index)
        return true
    }

    /// Discards what expired while it waited.
    package mutating func dropExpired(at now: Moment, into effects: inout [QueueEffect]) {
        removeWaiting(.expired, into: &effects) { $0.push.expires <= now }
    }

    private mutating func discardFlight(at index: Int, _ cause: DiscardCause, into effects: inout [QueueEffect]) {
        let entry = flights.remove(at: index).entry
        effects.append(.discarded(entry.push, cause, fromStorage: entry.wasStored))
    }

    /// Marks what waits for topics that were just enabled.
    private mutating func mark(_ registrations: [UInt64]) {
        guard !registrations.isEmpty, waitingCount > 0 else { return }
        func markAll(_ list: inout [Entry]) -> Int {
            var count = 0
            for index in list.indices where registrations.contains(list[index].push.registration) {
                if list[index].isMarked { continue }
                list[index].isMarked = true
                count += 1
            }
            return count
        }
        marked += markAll(&waiting.immediate)
        marked += markAll(&waiting.aware)
        marked += markAll(&waiting.first)
    }

    private mutating func unmark() {
        marked = 0
        for index in waiting.immediate.indices { waiting.immediate[index].isMarked = false }
        for index in waiting.aware.indices { waiting.aware[index].isMarked = false }
        for index in waiting.first.indices { waiting.first[index].isMarked = false }
        for index in flights.indices { flights[index].entry.isMarked = false }
    }
}

extension Push {
    /// Its id on the device wire: never 0, because numbers whose low half is 0 are not given, and the same after a
    /// restart. Two of a device's outstanding pushes would have to be four billion apart to share one.
    package var messageID: UInt32 { UInt32(truncatingIfNeeded: number) }
}
