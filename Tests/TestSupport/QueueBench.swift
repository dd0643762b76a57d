package import PushCore

/// A queue, the time it is told, and what it asked for.
package struct QueueBench {
    package var queue: DeviceQueue
    package var now = Sample.now
    /// Bytes that may still be framed.
    package var room = Limits.unsentBytes
    package private(set) var effects: [QueueEffect] = []

    /// A queue for some registrations, each of an app of its own.
    package init(lanes: ClosedRange<UInt64> = 1...1, change: (inout QueuePolicy) -> Void = { _ in }) {
        var policy = QueuePolicy()
        change(&policy)
        queue = DeviceQueue(policy: policy)
        for lane in lanes { queue.addLane(registration: lane, app: Int(lane)) }
    }

    /// One whose device is connected and has enabled everything; nothing was asked for yet.
    package static func live(
        lanes: ClosedRange<UInt64> = 1...1,
        awake: Bool = true,
        change: (inout QueuePolicy) -> Void = { _ in }
    ) -> QueueBench {
        var bench = QueueBench(lanes: lanes, change: change)
        bench.connect(awake: awake)
        return bench
    }

    /// What was asked for since the last call, in words.
    package mutating func asked() -> [String] {
        takeEffects().map(\.words)
    }

    /// The same as values.
    package mutating func takeEffects() -> [QueueEffect] {
        defer { effects = [] }
        return effects
    }

    /// The same without what only the delivery log wants to know.
    package mutating func sent() -> [String] { asked().filter { $0.hasPrefix("send") || $0.hasPrefix("resend") } }

    @discardableResult
    package mutating func add(_ push: Push) -> QueueVerdict {
        let queued = QueuedPush(push)
        if queue.sendAtOnce(queued, at: now, room: &room) {
            effects.append(.send(queued, .live))
            return .accepted
        }
        let verdict = queue.add(queued, at: now, into: &effects)
        pump()
        return verdict
    }

    package mutating func add(_ pushes: [Push]) {
        for push in pushes { add(push) }
    }

    package mutating func connect(awake: Bool = true, mode: TopicMode = .enabled) {
        open(awake: awake)
        filter { _ in mode }
    }

    package mutating func open(awake: Bool = true) { queue.openSession(isAwake: awake, into: &effects) }

    package mutating func close() { queue.closeSession(into: &effects) }

    @discardableResult
    package mutating func filter(_ mode: (UInt64) -> TopicMode) -> Bool {
        let waits = queue.filter(at: now, into: &effects, mode: mode)
        pump()
        return waits
    }

    package mutating func wake(_ isAwake: Bool = true) {
        queue.setAwake(isAwake)
        pump()
    }

    package mutating func acknowledge(_ numbers: UInt32..., status: UInt8 = 0) {
        for number in numbers {
            queue.acknowledge(number, status: status, into: &effects)
            pump()
        }
    }

    /// Time passes, and what it makes due is done.
    package mutating func pass(_ interval: Interval) {
        now = now + interval
        queue.resend(at: now, room: &room, into: &effects)
        pump()
    }

    package mutating func revoke(_ registration: UInt64) {
        queue.revoke(registration: registration, into: &effects)
        pump()
    }

    /// Whether the push was there to be taken back.
    package mutating func withdraw(_ push: Push) -> Bool { queue.withdraw(push.number) }

    package mutating func restore(_ push: Push) { queue.restore(QueuedPush(push), into: &effects) }

    /// Sends what may go; payloads that the store has to give come at once.
    package mutating func pump() {
        queue.pump(at: now, room: &room, into: &effects)
        while queue.lacksPayload {
            for number in queue.missingPayloads(at: now) { queue.load(Sample.payload, of: number) }
            queue.pump(at: now, room: &room, into: &effects)
        }
    }
}

extension QueueEffect {
    /// As a test reads it: `send 3 last`, `delivered 3 from storage`, `collapsed 3`.
    package var words: String {
        switch self {
        case .send(let push, let flag): "send \(push.number)\(flag.words)"
        case .resend(let push, let flag): "resend \(push.number)\(flag.words)"
        case .stored(let push, let state): "\(state.rawValue) \(push.number)"
        case .delivered(let push, let fromStorage): "delivered \(push.number)\(fromStorage ? " from storage" : "")"
        case .discarded(let push, let cause, let fromStorage), .replaced(let push, let cause, _, let fromStorage):
            "\(cause.rawValue) \(push.number)\(fromStorage ? " from storage" : "")"
        case .obsolete(let number): "obsolete \(number)"
        case .revoked(let registration): "revoked \(registration)"
        case .closeSession: "close"
        }
    }
}

extension QueuedPush {
    /// Its push's number, by which tests tell pushes apart.
    package var number: UInt64 { push.number }
}

extension StorageFlag {
    fileprivate var words: String {
        switch self {
        case .live: ""
        case .stored: " stored"
        case .lastStored: " last"
        }
    }
}
