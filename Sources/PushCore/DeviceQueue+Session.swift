// What a session does to a queue: it opens, filters, wakes, acknowledges, times out, closes.
extension DeviceQueue {
    /// A session opened, or took over: everything unacknowledged waits again, in its old place.
    package mutating func openSession(isAwake: Bool, into effects: inout [QueueEffect]) {
        closeSession(into: &effects)
        self.isAwake = isAwake
    }

    /// The session ended. What it had in flight waits again, unless it was for once or a newer one replaces it.
    package mutating func closeSession(into effects: inout [QueueEffect]) {
        guard hasSession else { return }
        isAwake = nil
        released = 0
        let ended = flights
        flights.removeAll()
        for flight in ended {
            var entry = flight.entry
            entry.isMarked = false
            if entry.push.isOnce {
                effects.append(.discarded(entry.queued, .expired, fromStorage: false))
            } else if flight.replacement != .none {
                giveWay(entry, flight.replacement, into: &effects)
            } else {
                putBack(entry)
                #if PLANTED_FAULTS
                    if policy.fault == .deliveredTwice { putBack(entry) }
                #endif
            }
        }
        for lane in lanes.indices {
            lanes[lane].mode = .unlisted
            discardWaiting(.expired, lane, into: &effects, where: \.push.isOnce)
            park(lane, as: .storedOffline, into: &effects)
        }
    }

    /// A Filter came: `mode` names how each registration is treated from now on. Returns whether something waits for
    /// what it enables; if not, the device is told so.
    package mutating func filter(
        at now: Moment,
        into effects: inout [QueueEffect],
        mode: (UInt64) -> TopicMode
    ) -> Bool {
        guard hasSession else { return false }
        var hasWaiting = false
        for lane in lanes.indices {
            let (old, new) = (lanes[lane].mode, mode(lanes[lane].registration))
            lanes[lane].mode = new
            dropExpired(lane, at: now, into: &effects)
            switch new {
            case .enabled, .opportunistic:
                if !old.delivers { mark(lane) }
                if lanes[lane].count > 0 { hasWaiting = true }
            case .paused: park(lane, as: .storedPower, into: &effects)
            case .unlisted: park(lane, as: .storedOffline, into: &effects)
            case .ignored: discardWaiting(.disabled, lane, into: &effects) { _ in true }
            }
        }
        return hasWaiting
    }

    /// One registration was made after the Filter that already names its topic.
    package mutating func setMode(_ mode: TopicMode, of registration: UInt64) {
        guard hasSession, let lane = lane(of: registration) else { return }
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
            effects.append(.delivered(entry.queued, fromStorage: entry.isMarked || entry.wasStored))
            return
        }
        effects.append(.discarded(entry.queued, .refused, fromStorage: entry.wasStored))
        if status == 2 { effects.append(.revoked(registration: entry.push.registration)) }
    }

    /// Sends again what was not acknowledged in time, at most `Limits.resends` times, then ends the session. What finds
    /// no `room` counts all the same: the device does not even read.
    package mutating func resend(at now: Moment, room: inout Int, into effects: inout [QueueEffect]) {
        var index = 0
        var isUnresponsive = false
        while index < flights.count {
            let flight = flights[index]
            let push = flight.entry.push
            guard flight.deadline <= now else {
                index += 1
                continue
            }
            if push.isOnce || push.expires <= now {
                discardFlight(at: index, .expired, into: &effects)
                continue
            }
            if flight.replacement != .none {
                flights.remove(at: index)
                giveWay(flight.entry, flight.replacement, into: &effects)
                continue
            }
            flights[index].deadline = now + policy.acknowledgementTimeout
            if !mode(of: push.registration).delivers {
                // A later Filter took the topic away: it may still be acknowledged, and waits again after the session.
                index += 1
            } else if flight.resends < Limits.resends {
                again(index, room: &room, into: &effects)
                index += 1
            } else {
                isUnresponsive = true
                if exhaust(index, into: &effects) { index += 1 }
            }
        }
        guard isUnresponsive else { return }
        effects.append(.closeSession)
        closeSession(into: &effects)
    }

    private mutating func again(_ index: Int, room: inout Int, into effects: inout [QueueEffect]) {
        let flight = flights[index]
        flights[index].resends += 1
        let size = flight.entry.push.content.payloadCount + Limits.frameOverhead
        guard size <= room else { return }
        room -= size
        effects.append(.resend(flight.entry.queued, flight.flag))
    }

    /// Counts the session against a push whose resends are used up. False if it was the last, and the push is gone.
    private mutating func exhaust(_ index: Int, into effects: inout [QueueEffect]) -> Bool {
        flights[index].entry.exhaustedSessions += 1
        guard Int(flights[index].entry.exhaustedSessions) >= Limits.exhaustedSessions else { return true }
        discardFlight(at: index, .undeliverable, into: &effects)
        return false
    }

    /// The clock was set back: what is in flight waits for its acknowledgement for as long as it would have.
    package mutating func goBack(by interval: Interval) {
        for index in flights.indices { flights[index].deadline = flights[index].deadline - interval }
    }

    /// When `resend` or `pump` has something to do next without another event. What was due before `now` and did not
    /// go waits for an acknowledgement, not for time.
    package func nextDeadline(after now: Moment) -> Moment? {
        var next = flights.lazy.map(\.deadline).min()
        guard isAwake == false else { return next }
        for lane in lanes where lane.mode == .enabled {
            guard let push = lane.head(Priority.powerAware.rank)?.push else { continue }
            let due = push.acceptedAt + policy.lowPriorityDelay
            if due > now { next = min(next ?? .distantFuture, due) }
        }
        return next
    }

    /// The registration is gone: nothing of it is sent or acknowledged any more.
    package mutating func revoke(registration: UInt64, into effects: inout [QueueEffect]) {
        guard let lane = lane(of: registration) else { return }
        discardWaiting(.unregistered, lane, into: &effects) { _ in true }
        lanes.remove(at: lane)
        while let index = flights.firstIndex(where: { $0.entry.push.registration == registration }) {
            let queued = flights.remove(at: index).entry.queued
            effects.append(.discarded(queued, .unregistered, fromStorage: true))
        }
    }

    /// Discards what expired while it waited.
    package mutating func dropExpired(at now: Moment, into effects: inout [QueueEffect]) {
        for lane in lanes.indices { dropExpired(lane, at: now, into: &effects) }
    }

    private mutating func discardFlight(at index: Int, _ cause: DiscardCause, into effects: inout [QueueEffect]) {
        let entry = flights.remove(at: index).entry
        effects.append(.discarded(entry.queued, cause, fromStorage: entry.wasStored))
    }
}

extension Push {
    /// Its id on the device wire: never 0, because numbers whose low half is 0 are not given, and the same after a
    /// restart. Two of a device's outstanding pushes would have to be four billion apart to share one.
    package var messageID: UInt32 { UInt32(truncatingIfNeeded: number) }
}
