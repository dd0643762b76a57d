/// What waits for one device and what it has not acknowledged, over all its registrations.
///
/// A value: events and the time go in, effects come out, it does nothing itself. The rules are in docs/architecture.md.
package struct DeviceQueue {
    /// One sent and not yet acknowledged.
    struct Flight {
        var entry: WaitingPush
        let flag: StorageFlag
        var deadline: Moment
        var resends = 0
        /// By newer pushes with its collapse id: once there is one, this one must not be sent again.
        var replacement = Replacement.none
    }

    /// What the operator decided.
    package let policy: QueuePolicy
    var lanes: [QueueLane] = []
    var flights: [Flight] = []
    /// nil without a session.
    package internal(set) var isAwake: Bool?
    /// Pushes that wait, over all registrations.
    package private(set) var waitingCount = 0
    /// Marked entries that still wait: when the last one leaves, it says so.
    private(set) var marked = 0
    /// Entries that the next `pump` sends or discards.
    private var onceCount = 0
    /// The last `pump` came to a push whose payload is in the store: what follows waits for it (`missingPayloads`).
    package private(set) var lacksPayload = false
    /// A priority 10 went to the sleeping device: what has priority 5 and no higher number may follow it.
    var released: UInt64 = 0
    /// Something in flight may have a replacement that is pending.
    var mayHavePending = false

    package init(policy: QueuePolicy) { self.policy = policy }

    /// Whether a session is open.
    package var hasSession: Bool { isAwake != nil }
    /// Pushes sent and not yet acknowledged.
    package var flightCount: Int { flights.count }
    /// Accepted and neither acknowledged nor discarded.
    package var heldCount: Int { waitingCount + flights.count }

    /// Adds a topic. Adding it again changes nothing.
    package mutating func addLane(registration: UInt64, app: Int) {
        guard lane(of: registration) == nil else { return }
        lanes.append(QueueLane(registration: registration, app: app))
    }

    /// How the session treats the registration's topic.
    package func mode(of registration: UInt64) -> TopicMode {
        lane(of: registration).map { lanes[$0].mode } ?? .unlisted
    }

    /// Everything held for the registration, in the order it would be sent: in flight first.
    package func held(for registration: UInt64) -> [Push] {
        var held = flights.map(\.entry.push).filter { $0.registration == registration }
        guard let lane = lane(of: registration) else { return held }
        for rank in Priority.ranks { held += lanes[lane].lists[rank].map(\.push) }
        return held
    }

    /// One that is held; nil when it is not.
    package func push(numbered number: UInt64) -> Push? {
        // Flights first: who asks mostly waits for an acknowledgement.
        if let flight = flights.first(where: { $0.entry.push.number == number }) { return flight.entry.push }
        for lane in lanes {
            if let entry = lane.first(where: { $0.push.number == number }) { return entry.push }
        }
        return nil
    }

    /// The oldest acceptance among what is held.
    package var oldest: Moment? {
        var oldest = flights.lazy.map(\.entry.push.acceptedAt).min()
        for lane in lanes {
            for rank in Priority.ranks {
                guard let head = lane.head(rank)?.push.acceptedAt else { continue }
                oldest = min(oldest ?? head, head)
            }
        }
        return oldest
    }

    func lane(of registration: UInt64) -> Int? { lanes.firstIndex { $0.registration == registration } }

    // MARK: Taking in

    /// Offers a new push, whose number is above all before it. Call `pump` afterwards if there is a session.
    package mutating func add(_ queued: QueuedPush, at now: Moment, into effects: inout [QueueEffect]) -> QueueVerdict {
        let push = queued.push
        guard let lane = lane(of: push.registration) else {
            preconditionFailure("a push came for a registration the queue does not know")
        }
        let mode = lanes[lane].mode
        if mode == .ignored {
            effects.append(.discarded(queued, .disabled, fromStorage: false))
            return .discarded
        }
        if push.isOnce { return addOnce(queued, lane, at: now, into: &effects) }
        if mode.delivers, isFull(lane, for: push, at: now, into: &effects) { return .tooMany }
        #if PLANTED_FAULTS
            let isSecond = lanes[lane].contains { $0.push.isReplaced(by: push) } && push.content.hasCollapseID
            if policy.fault == .collapsedWrongWay, isSecond {
                effects.append(.discarded(queued, .collapsed, fromStorage: false))
                return .discarded
            }
        #endif
        collapse(with: push, lane, isSafe: false, into: &effects)
        supersede(by: push, into: &effects)

        var entry = WaitingPush(queued)
        if !mayGo(push, mode, at: now) {
            entry.wasStored = true
            effects.append(.stored(queued, mode == .unlisted ? .storedOffline : .storedPower))
        }
        append(entry, lane)
        if policy.mode == .apple {
            if entry.wasStored { keepOnly(push, ofApp: lanes[lane].app, into: &effects) }
        } else if !mode.delivers {
            trim(lane, for: push, at: now, into: &effects)
        }
        return .accepted
    }

    /// Puts back a push that the store kept over a restart. Call in the order of numbers.
    package mutating func restore(_ queued: QueuedPush, into effects: inout [QueueEffect]) {
        let push = queued.push
        guard let lane = lane(of: push.registration) else { return }
        // The older one was in flight when the newer one came, so the store still had it.
        collapse(with: push, lane, isSafe: true, into: &effects)
        append(WaitingPush(queued, wasStored: true), lane)
    }

    /// Expiration 0 or past: with the next `pump` or never.
    private mutating func addOnce(
        _ queued: QueuedPush,
        _ lane: Int,
        at now: Moment,
        into effects: inout [QueueEffect]
    ) -> QueueVerdict {
        collapse(with: queued.push, lane, isSafe: true, into: &effects)
        guard mayGo(queued.push, lanes[lane].mode, at: now) else {
            effects.append(.discarded(queued, .expired, fromStorage: false))
            return .discarded
        }
        append(WaitingPush(queued), lane)
        return .once
    }

    /// Whether so much waits for a device that is present that one more must be refused.
    private mutating func isFull(
        _ lane: Int,
        for push: Push,
        at now: Moment,
        into effects: inout [QueueEffect]
    ) -> Bool {
        guard lanes[lane].count >= policy.backlog else { return false }
        if push.content.hasCollapseID, lanes[lane].contains(where: { $0.push.isReplaced(by: push) }) { return false }
        dropExpired(lane, at: now, into: &effects)
        return lanes[lane].count >= policy.backlog
    }

    /// Keeps the newest of a registration whose device is away, within its limit, when `push` has come.
    private mutating func trim(_ lane: Int, for push: Push, at now: Moment, into effects: inout [QueueEffect]) {
        #if PLANTED_FAULTS
            if policy.fault == .limitExceeded, lanes[lane].count == policy.limit + 1 { return }
        #endif
        guard lanes[lane].count > policy.limit else { return }
        dropExpired(lane, at: now, into: &effects)
        while lanes[lane].count > policy.limit, let oldest = lanes[lane].takeOldest() {
            replace(oldest, .queueFull, by: push, into: &effects)
        }
    }

    /// One stored push for all topics of an app, also for a device that is there and asleep.
    private mutating func keepOnly(_ push: Push, ofApp app: Int, into effects: inout [QueueEffect]) {
        for lane in lanes.indices where lanes[lane].app == app {
            for entry in lanes[lane].take(where: { $0.wasStored && $0.push.number != push.number }) {
                replace(entry, .queueFull, by: push, into: &effects)
            }
        }
    }

    // MARK: Sending

    /// Sends a new push at once, with the flag of live ones, if nothing waits that it would have to stand behind, and
    /// nothing else is to be said about it. False if it must be offered with `add`. Most pushes for devices that are
    /// there go this way, which spares them the lists of what waits.
    package mutating func sendAtOnce(_ queued: QueuedPush, at now: Moment, room: inout Int) -> Bool {
        guard waitingCount == 0, let lane = lane(of: queued.push.registration) else { return false }
        guard !queued.push.isOnce, !queued.push.content.hasCollapseID, policy.backlog > 0,
            mayGo(queued.push, lanes[lane].mode, at: now)
        else { return false }
        let size = queued.push.content.payloadCount + Limits.frameOverhead
        guard flights.count < policy.window, size <= room else { return false }
        room -= size
        takeOff(WaitingPush(queued), .live, at: now)
        return true
    }

    /// Sends what may be sent now: priority first, then age, while the window and `room` bytes allow.
    package mutating func pump(at now: Moment, room: inout Int, into effects: inout [QueueEffect]) {
        lacksPayload = false
        guard hasSession, waitingCount > 0 else { return }
        pumpAll(at: now, room: &room, into: &effects)
        guard onceCount > 0 else { return }
        for lane in lanes.indices { discardWaiting(.expired, lane, into: &effects, where: \.push.isOnce) }
        // What stood behind them may have found room.
        pumpAll(at: now, room: &room, into: &effects)
    }

    private mutating func pumpAll(at now: Moment, room: inout Int, into effects: inout [QueueEffect]) {
        for rank in Priority.ranks {
            // When one finds no room, nothing behind it may overtake it.
            guard pump(rank, at: now, room: &room, into: &effects) else { return }
        }
    }

    /// Sends what may be sent of one priority. False if window or room is used up.
    private mutating func pump(
        _ rank: Int,
        at now: Moment,
        room: inout Int,
        into effects: inout [QueueEffect]
    ) -> Bool {
        while let lane = nextLane(rank, at: now), let push = lanes[lane].head(rank)?.push {
            if push.hasExpired(at: now), !sendsExpired {
                discard(lanes[lane].takeHead(rank), .expired, into: &effects)
                continue
            }
            let size = push.content.payloadCount + Limits.frameOverhead
            guard flights.count < policy.window, size <= room else { return false }
            guard push.content.hasPayload else {
                lacksPayload = true
                return false
            }
            room -= size
            let entry = lanes[lane].takeHead(rank)
            left(entry)
            send(entry, at: now, into: &effects)
        }
        return true
    }

    #if PLANTED_FAULTS
        private var sendsExpired: Bool { policy.fault == .expiredSent }
    #else
        private var sendsExpired: Bool { false }
    #endif

    /// The lane with the oldest push of a rank that may go.
    private func nextLane(_ rank: Int, at now: Moment) -> Int? {
        var next: (lane: Int, number: UInt64)?
        for index in lanes.indices where lanes[index].mode.delivers {
            // In a lane whose oldest may not go, no younger one may.
            guard let push = lanes[index].head(rank)?.push, mayGo(push, lanes[index].mode, at: now) else { continue }
            if next.map({ push.number < $0.number }) ?? true { next = (index, push.number) }
        }
        return next?.lane
    }

    private mutating func send(_ entry: WaitingPush, at now: Moment, into effects: inout [QueueEffect]) {
        if entry.push.isOnce { supersede(by: entry.push, into: &effects) }
        if entry.push.priority == .immediate, isAwake == false { release() }
        let flag: StorageFlag = entry.isMarked ? (marked == 0 ? .lastStored : .stored) : .live
        takeOff(entry, flag, at: now)
        effects.append(.send(entry.queued, flag))
    }

    private mutating func takeOff(_ entry: WaitingPush, _ flag: StorageFlag, at now: Moment) {
        flights.append(Flight(entry: entry, flag: flag, deadline: now + policy.acknowledgementTimeout))
    }

    /// The device is disturbed anyway: all of priority 5 that waits may follow.
    private mutating func release() {
        let aware = Priority.powerAware.rank
        for lane in lanes.indices {
            if let youngest = lanes[lane].lists[aware].last { released = max(released, youngest.push.number) }
        }
    }

    /// Whether the push may go to the session there is, window and room apart.
    func mayGo(_ push: Push, _ mode: TopicMode, at now: Moment) -> Bool {
        guard let isAwake, mode.delivers else { return false }
        switch push.priority {
        case .immediate: return true
        case .powerFirst: return isAwake
        case .powerAware:
            if isAwake { return true }
            let isDue = push.number <= released || now >= push.acceptedAt + policy.lowPriorityDelay
            return mode == .enabled && isDue
        }
    }

    // MARK: What waits

    private mutating func append(_ entry: WaitingPush, _ lane: Int) {
        lanes[lane].append(entry)
        waitingCount += 1
        if entry.push.isOnce { onceCount += 1 }
    }

    /// Puts back what was in flight, where its number says.
    mutating func putBack(_ entry: WaitingPush) {
        guard let lane = lane(of: entry.push.registration) else { return }
        lanes[lane].putBack(entry)
        waitingCount += 1
    }

    /// Counts an entry that has just been taken from its lane.
    mutating func left(_ entry: WaitingPush) {
        waitingCount -= 1
        if entry.isMarked { marked -= 1 }
        if entry.push.isOnce { onceCount -= 1 }
    }

    /// Ends an entry that has just been taken from its lane.
    mutating func discard(_ entry: WaitingPush, _ cause: DiscardCause, into effects: inout [QueueEffect]) {
        left(entry)
        // The queue of a revoked registration is storage as a whole.
        let fromStorage = entry.wasStored || cause == .unregistered
        effects.append(.discarded(entry.queued, cause, fromStorage: fromStorage))
    }

    mutating func discardWaiting(
        _ cause: DiscardCause,
        _ lane: Int,
        into effects: inout [QueueEffect],
        where matches: (WaitingPush) -> Bool
    ) {
        for entry in lanes[lane].take(where: matches) { discard(entry, cause, into: &effects) }
    }

    mutating func dropExpired(_ lane: Int, at now: Moment, into effects: inout [QueueEffect]) {
        discardWaiting(.expired, lane, into: &effects) { $0.push.hasExpired(at: now) }
    }

    /// Takes back a waiting push without a word.
    mutating func takeBack(_ number: UInt64) -> Bool {
        for lane in lanes.indices {
            let taken = lanes[lane].take { $0.push.number == number }
            guard !taken.isEmpty else { continue }
            for entry in taken { left(entry) }
            return true
        }
        return false
    }

    /// Marks what waits for a topic that was just enabled.
    mutating func mark(_ lane: Int) { marked += lanes[lane].mark() }

    /// What waits for a topic that no session takes any more is stored from now on.
    mutating func park(_ lane: Int, as state: DeliveryState, into effects: inout [QueueEffect]) {
        var unmarked = 0
        lanes[lane].park { entry in
            if entry.isMarked { unmarked += 1 }
            if !entry.wasStored, !entry.push.isOnce { effects.append(.stored(entry.queued, state)) }
        }
        marked -= unmarked
    }
}

extension Push {
    /// Whether `newer` has its collapse id, for the same registration.
    package func isReplaced(by newer: Push) -> Bool {
        number != newer.number && registration == newer.registration && content.collapseID == newer.content.collapseID
    }

    /// Not to be sent any more. What is for once is judged by whether it goes at once.
    func hasExpired(at now: Moment) -> Bool { expires <= now && !isOnce }
}
