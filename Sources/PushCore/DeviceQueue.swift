/// What waits for one device and what it has not acknowledged, over all its registrations.
///
/// A value: events and the time go in, effects come out, it does nothing itself. Rules: design.md 2.2 to 2.9.
package struct DeviceQueue: Sendable {
    /// One topic of the device.
    struct Lane: Sendable {
        let registration: UInt64
        /// Equal for all topics of one app: what `queue.mode = apple` keeps one push for.
        let app: Int
        var mode = TopicMode.unlisted
        /// How many of its pushes wait, so that limits need no scan.
        var waiting = 0
    }

    /// One waiting push.
    struct Entry: Sendable {
        let push: Push
        /// It waited without a session that would take it: its end is told as "from storage".
        var wasStored = false
        /// It waited when a Filter enabled its topic: it carries a storage flag.
        var isMarked = false
        /// Sessions on which it used up its resends.
        var exhaustedSessions: UInt8 = 0
    }

    /// One sent and not yet acknowledged.
    struct Flight: Sendable {
        var entry: Entry
        let flag: StorageFlag
        var deadline: Moment
        var resends = 0
        /// A newer push with its collapse id came: it must not be sent again.
        var isSuperseded = false
    }

    var policy: QueuePolicy
    var lanes: [Lane] = []
    /// Waiting pushes, oldest first, by priority 10, 5, 1.
    var waiting: (immediate: [Entry], aware: [Entry], first: [Entry]) = ([], [], [])
    var flights: [Flight] = []
    /// nil without a session.
    package internal(set) var isAwake: Bool?
    /// Marked entries that still wait: when the last one leaves, it says so.
    var marked = 0

    package init(policy: QueuePolicy) { self.policy = policy }

    package var hasSession: Bool { isAwake != nil }
    package var waitingCount: Int { waiting.immediate.count + waiting.aware.count + waiting.first.count }
    package var flightCount: Int { flights.count }
    /// Accepted and neither acknowledged nor discarded.
    package var heldCount: Int { waitingCount + flights.count }

    /// Adds a topic. Adding it again changes nothing.
    package mutating func addLane(registration: UInt64, app: Int) {
        guard !lanes.contains(where: { $0.registration == registration }) else { return }
        lanes.append(Lane(registration: registration, app: app))
    }

    /// How the session treats the registration's topic.
    package func mode(of registration: UInt64) -> TopicMode {
        lanes.first { $0.registration == registration }?.mode ?? .unlisted
    }

    /// Everything held for the registration, in the order it would be sent: in flight first.
    package func held(for registration: UInt64) -> [Push] {
        let inFlight = flights.map(\.entry.push).filter { $0.registration == registration }
        let all = waiting.immediate + waiting.aware + waiting.first
        return inFlight + all.map(\.push).filter { $0.registration == registration }
    }

    /// The oldest acceptance among what is held.
    package var oldest: Moment? {
        let heads = [waiting.immediate.first, waiting.aware.first, waiting.first.first].compactMap(\.?.push.acceptedAt)
        return (heads + flights.map(\.entry.push.acceptedAt)).min()
    }

    // MARK: Taking in

    /// Offers a new push. Call `pump` afterwards when it was accepted and there is a session.
    package mutating func add(_ push: Push, at now: Moment, into effects: inout [QueueEffect]) -> QueueVerdict {
        guard let lane = lanes.firstIndex(where: { $0.registration == push.registration }) else {
            preconditionFailure("a push came for a registration the queue does not know")
        }
        if lanes[lane].mode == .ignored {
            effects.append(.discarded(push, .disabled, fromStorage: false))
            return .discarded
        }
        let isPresent = hasSession && lanes[lane].mode.delivers
        if isPresent, lanes[lane].waiting >= policy.backlog, !collapses(push) { return .tooMany }
        collapse(with: push, into: &effects)
        if push.isOnce { return addOnce(push, lane, at: now, into: &effects) }

        var entry = Entry(push: push)
        if !isPresent || !mayGo(push, lanes[lane].mode, at: now, afterImmediate: false) {
            entry.wasStored = true
            let state = hasSession && lanes[lane].mode != .unlisted ? DeliveryState.storedPower : .storedOffline
            effects.append(.stored(push, state))
        }
        append(entry)
        lanes[lane].waiting += 1
        // Apple keeps one stored push also for a device that is there and asleep.
        if !isPresent || (entry.wasStored && policy.mode == .apple) { trim(lane, at: now, into: &effects) }
        return .accepted
    }

    /// Puts back a push that the store kept over a restart. Call in the order of numbers.
    package mutating func restore(_ push: Push) {
        guard let lane = lanes.firstIndex(where: { $0.registration == push.registration }) else { return }
        append(Entry(push: push, wasStored: true))
        lanes[lane].waiting += 1
    }

    /// Expiration 0 or past: now or never.
    private mutating func addOnce(
        _ push: Push,
        _ lane: Int,
        at now: Moment,
        into effects: inout [QueueEffect]
    ) -> QueueVerdict {
        let canGo = hasSession && lanes[lane].mode.delivers && flights.count < policy.window
        // What waits and may go has been pumped already, so a free place in the window is this push's.
        guard canGo, mayGo(push, lanes[lane].mode, at: now, afterImmediate: false) else {
            effects.append(.discarded(push, .expired, fromStorage: false))
            return .discarded
        }
        send(Entry(push: push), at: now, into: &effects)
        return .sentOnce
    }

    /// Keeps the newest of a registration whose device is away, within its limit.
    private mutating func trim(_ lane: Int, at now: Moment, into effects: inout [QueueEffect]) {
        if policy.mode == .apple {
            let app = lanes[lane].app
            let group = lanes.filter { $0.app == app }.map(\.registration)
            removeOldest(of: group, keeping: 1, into: &effects)
        } else if lanes[lane].waiting > policy.limit {
            dropExpired(at: now, into: &effects)
            removeOldest(of: [lanes[lane].registration], keeping: policy.limit, into: &effects)
        }
    }

    private mutating func removeOldest(
        of registrations: [UInt64],
        keeping limit: Int,
        into effects: inout [QueueEffect]
    ) {
        let numbers = allWaiting.filter { registrations.contains($0.push.registration) }.map(\.push.number).sorted()
        guard numbers.count > limit else { return }
        let newest = numbers[numbers.count - limit]
        removeWaiting(.queueFull, into: &effects) {
            $0.push.number < newest && registrations.contains($0.push.registration)
        }
    }

    // MARK: Collapse

    private func collapses(_ push: Push) -> Bool {
        !push.collapseID.isEmpty && allWaiting.contains { isSame($0.push, push) }
    }

    /// The waiting one with the same id goes; the one in flight is not recalled but will not be sent again.
    private mutating func collapse(with push: Push, into effects: inout [QueueEffect]) {
        guard !push.collapseID.isEmpty else { return }
        removeWaiting(.collapsed, into: &effects) { isSame($0.push, push) }
        for index in flights.indices where isSame(flights[index].entry.push, push) {
            flights[index].isSuperseded = true
        }
    }

    // MARK: Sending

    /// Sends what may be sent now: priority first, then age, while the window and `room` bytes allow.
    package mutating func pump(at now: Moment, room: inout Int, into effects: inout [QueueEffect]) {
        guard hasSession, waitingCount > 0 else { return }
        let sentBefore = effects.count
        pump(\.immediate, at: now, room: &room, afterImmediate: false, into: &effects)
        let sentImmediate = effects[sentBefore...].contains {
            if case .send = $0 { true } else { false }
        }
        pump(\.aware, at: now, room: &room, afterImmediate: sentImmediate, into: &effects)
        pump(\.first, at: now, room: &room, afterImmediate: false, into: &effects)
    }

    private mutating func pump(
        _ list: WritableKeyPath<(immediate: [Entry], aware: [Entry], first: [Entry]), [Entry]>,
        at now: Moment,
        room: inout Int,
        afterImmediate: Bool,
        into effects: inout [QueueEffect]
    ) {
        var index = 0
        while index < waiting[keyPath: list].count {
            let entry = waiting[keyPath: list][index]
            let push = entry.push
            if push.expires <= now {
                waiting[keyPath: list].remove(at: index)
                left(entry)
                effects.append(.discarded(push, .expired, fromStorage: entry.wasStored))
                continue
            }
            guard mayGo(push, mode(of: push.registration), at: now, afterImmediate: afterImmediate) else {
                index += 1
                continue
            }
            let size = push.payload.count + Limits.frameOverhead
            guard flights.count < policy.window, size <= room else { return }
            room -= size
            waiting[keyPath: list].remove(at: index)
            left(entry)
            send(entry, at: now, into: &effects)
        }
    }

    private mutating func send(_ entry: Entry, at now: Moment, into effects: inout [QueueEffect]) {
        let flag: StorageFlag = entry.isMarked ? (marked == 0 ? .lastStored : .stored) : .live
        let deadline = now + policy.acknowledgementTimeout
        flights.append(Flight(entry: entry, flag: flag, deadline: deadline))
        effects.append(.send(entry.push, flag))
    }

    /// Whether the push may go to the session there is, window and room apart.
    private func mayGo(_ push: Push, _ mode: TopicMode, at now: Moment, afterImmediate: Bool) -> Bool {
        guard let isAwake, mode.delivers else { return false }
        switch push.priority {
        case .immediate: return true
        case .powerFirst: return isAwake
        case .powerAware:
            if isAwake || (afterImmediate && mode == .enabled) { return true }
            return mode == .enabled && now >= push.acceptedAt + policy.lowPriorityDelay
        }
    }

    // MARK: The waiting lists

    var allWaiting: [Entry] { waiting.immediate + waiting.aware + waiting.first }

    private mutating func append(_ entry: Entry) {
        switch entry.push.priority {
        case .immediate: waiting.immediate.append(entry)
        case .powerAware: waiting.aware.append(entry)
        case .powerFirst: waiting.first.append(entry)
        }
    }

    /// Puts back what was in flight, where its number says.
    mutating func putBack(_ entries: [Entry]) {
        for entry in entries {
            append(entry)
            if let lane = lanes.firstIndex(where: { $0.registration == entry.push.registration }) {
                lanes[lane].waiting += 1
            }
        }
        guard !entries.isEmpty else { return }
        waiting.immediate.sort { $0.push.number < $1.push.number }
        waiting.aware.sort { $0.push.number < $1.push.number }
        waiting.first.sort { $0.push.number < $1.push.number }
    }

    /// Counts an entry that has just been taken from a list.
    private mutating func left(_ entry: Entry) {
        if entry.isMarked { marked -= 1 }
        if let lane = lanes.firstIndex(where: { $0.registration == entry.push.registration }) {
            lanes[lane].waiting -= 1
        }
    }

    mutating func removeWaiting(
        _ cause: DiscardCause,
        into effects: inout [QueueEffect],
        where matches: (Entry) -> Bool
    ) {
        var removed = Self.take(from: &waiting.immediate, where: matches)
        removed += Self.take(from: &waiting.aware, where: matches)
        removed += Self.take(from: &waiting.first, where: matches)
        for entry in removed {
            left(entry)
            effects.append(.discarded(entry.push, cause, fromStorage: entry.wasStored))
        }
    }

    private static func take(from list: inout [Entry], where matches: (Entry) -> Bool) -> [Entry] {
        guard list.contains(where: matches) else { return [] }
        let taken = list.filter(matches)
        list.removeAll(where: matches)
        return taken
    }
}

/// Same registration and the same bytes of collapse id.
private func isSame(_ a: Push, _ b: Push) -> Bool {
    a.registration == b.registration && a.collapseID == b.collapseID
}
