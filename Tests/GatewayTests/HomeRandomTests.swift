import PushCore
import Storage
import TestSupport
import Testing

@testable import Gateway

/// A home, its store and crashes, at random. The seed of a failure is the argument it names.
@Suite struct HomeRandomTests {
    @Test(arguments: SeededRandom.seeds)
    func `200 means durable and each push is answered once`(_ seed: UInt64) throws {
        var run = HomeRun(seed: seed)
        for step in 0..<1_000 {
            try run.step()
            #expect(run.complaints == [], "seed \(seed), step \(step)")
            if !run.complaints.isEmpty { return }
        }
        run.settle()
        #expect(run.complaints == [], "seed \(seed), at the end")
        #expect(run.unanswered == [:])
    }
}

/// One home, a store as slow and as lazy as the real one, and what they have said.
private struct HomeRun {
    /// What one turn asked of the store. Discards go later, never before what was asked with them.
    struct Batch {
        let appends: [PushAddress]
        let pushes: [Push]
        let discards: [UInt64]
    }

    var bench: HomeBench
    private(set) var complaints: [String] = []
    /// Places whose push has no answer yet, and its number.
    private(set) var unanswered: [Int: UInt64] = [:]
    private var random: SeededRandom
    private var stored: [UInt64: Push] = [:]
    private var batches: [Batch] = []
    private var lazy: [UInt64] = []
    private var promised: [UInt64: Push] = [:]
    private var ended: Set<UInt64> = []
    /// Which push took the place of which.
    private var successors: [UInt64: UInt64] = [:]
    private var inFlight: Set<UInt64> = []
    private var pushes: [UInt64: Push] = [:]

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        bench = HomeBench { ($0.queueLimit, $0.deliveryWindow, $0.deliveryBacklog) = (3, 2, 3) }
    }

    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: try offer()
        case 40..<60: acknowledge()
        case 60..<70: bench.pass(random.pick([Limits.writeDelay, .seconds(61)]))
        case 70..<75: try bench.connect(awake: random.once(in: 2))
        case 75..<79: bench.disconnect()
        case 79..<92: commit()
        case 92..<97: discard()
        case 97: bench.sweep()
        case 98: read()
        default: restart()
        }
        look()
        take()
    }

    /// Everything that waits for the store comes through.
    mutating func settle() {
        bench.pass(Limits.writeDelay)
        look()
        take()
        while !batches.isEmpty {
            commit()
            look()
            take()
        }
    }

    private mutating func offer() throws {
        let age: Int64 = random.pick([0, -5, 30, 86_400, 86_400])
        let headers: [RequestField: String?] = [
            .priority: random.pick(["10", "5"]), .expiration: "\(bench.now.seconds + age)",
        ]
        let held = bench.device.queue.held(for: bench.registration.number).map(\.number)
        try bench.offer(collapseID: random.pick(["", "a", "b"]), headers)
        guard let event = bench.home.events.first, event.state == .received, let push = event.push else { return }
        pushes[push.number] = push
        unanswered[bench.places] = push.number
        for event in bench.home.events.dropFirst() where event.cause == .collapsed || event.cause == .queueFull {
            successors[event.number] = push.number
        }
        // What was promised ends only with the promise of its heir, but its place is taken now.
        let stillHeld = Set(bench.device.queue.held(for: bench.registration.number).map(\.number))
        let over = Set(bench.home.events.filter(\.state.isFinal).map(\.number))
        for number in held where !stillHeld.contains(number) && !over.contains(number) {
            successors[number] = push.number
        }
    }

    private mutating func acknowledge() {
        guard !inFlight.isEmpty else { return }
        let number = random.pick(inFlight.sorted())
        bench.acknowledge(UInt32(number), status: random.once(in: 8) ? 1 : 0)
        inFlight.remove(number)
    }

    private mutating func commit() {
        guard !batches.isEmpty else { return }
        let batch = batches.removeFirst()
        lazy += batch.discards
        guard !random.once(in: 6) else {
            let failed = Set(batch.pushes.map(\.number))
            successors = successors.filter { !failed.contains($0.value) }
            let error = StoreError(.test, "a test made it fail", file: "the store")
            return bench.home.committed(batch.appends, error, at: bench.now)
        }
        for push in batch.pushes { stored[push.number] = push }
        bench.home.committed(batch.appends, nil, at: bench.now)
    }

    /// The store gives the payloads that were wanted, or fails to.
    private mutating func read() {
        let wanted = bench.home.takeWanted()
        guard !random.once(in: 4) else {
            bench.home.failedToLoad(wanted)
            for device in bench.home.takeUnread() { bench.home.goOn(device, at: bench.now) }
            return
        }
        for push in wanted where bench.device.queue.push(numbered: push.number) != nil && stored[push.number] == nil {
            complaints.append("\(push.number) left its payload to a store that has not got it")
        }
        let payloads = wanted.map { stored[$0.number].map { Array($0.content.payload) } }
        if !bench.home.loaded(wanted, payloads, at: bench.now).isEmpty { complaints.append("a push is lost") }
    }

    private mutating func discard() {
        for number in lazy { stored[number] = nil }
        lazy = []
    }

    /// Takes what was said in the last step and judges it.
    private mutating func look() {
        for event in bench.home.events where event.state.isFinal {
            if !ended.insert(event.number).inserted { complaints.append("\(event.number) ended twice") }
        }
        bench.home.events = []
        for (answer, reply) in bench.home.answers { heard(answer, at: reply.place) }
        bench.home.answers = []
        for effect in bench.home.effects {
            switch effect {
            case .notify(_, let notification):
                inFlight.insert(notification.queued.number)
                if !notification.queued.push.content.hasPayload {
                    complaints.append("\(notification.queued.number) is sent without its payload")
                }
            case .deadlineMoved, .endSession, .tokenGone: break
            }
        }
        if bench.home.effects.contains(where: { if case .endSession = $0 { true } else { false } }) { inFlight = [] }
        bench.home.effects = []
    }

    private mutating func heard(_ answer: PushAnswer, at place: Int) {
        guard let number = unanswered.removeValue(forKey: place), let push = pushes[number] else {
            if case .accepted = answer { complaints.append("\(place) is answered twice, or was refused before") }
            return
        }
        guard case .accepted = answer else { return }
        if !push.isOnce { promised[number] = push }
    }

    private mutating func take() {
        let (changes, appends) = bench.home.takeChanges()
        let discards = changes.compactMap { if case .discard(let number) = $0 { number } else { nil } }
        if appends.isEmpty, batches.isEmpty {
            lazy += discards
        } else if !changes.isEmpty {
            let pushes = changes.compactMap { if case .append(let push) = $0 { push } else { nil } }
            batches.append(Batch(appends: appends, pushes: pushes, discards: discards))
        }
        for number in promised.keys where !isSafe(number) { complaints.append("\(number) was promised and is lost") }
    }

    /// It is in the store, or it has ended; and if another took its place, that one has not been lost since.
    private func isSafe(_ number: UInt64) -> Bool {
        if stored[number] != nil { return true }
        guard ended.contains(number) else { return bench.device.queue.isObsolete(number) && hasSafeHeir(number) }
        guard let successor = successors[number], pushes[successor]?.isOnce == false else { return true }
        return isSafe(successor)
    }

    /// A newer one with its collapse id is stored, has ended, or went once: what is in flight need not be kept.
    private func hasSafeHeir(_ number: UInt64) -> Bool {
        pushes.values.contains { newer in
            guard newer.number > number, pushes[number]?.isReplaced(by: newer) == true else { return false }
            return newer.isOnce || stored[newer.number] != nil || ended.contains(newer.number)
        }
    }

    /// The process is killed: what the store has is all there is.
    private mutating func restart() {
        unanswered = [:]
        inFlight = []
        batches = []
        lazy = []
        let now = bench.now
        let last = (pushes.keys.max() ?? 0) + 1
        bench = HomeBench(afterPush: last) { ($0.queueLimit, $0.deliveryWindow, $0.deliveryBacklog) = (3, 2, 3) }
        bench.now = now
        ended.subtract(stored.keys)
        promised = promised.filter { stored[$0.key] != nil }
        successors = [:]
        for number in stored.keys.sorted() {
            if let push = stored[number] { bench.home.restore(Sample.unloaded(push), for: bench.registration) }
        }
        for event in bench.home.events {
            let newer = stored.keys.filter {
                $0 > event.number && stored[$0]?.content.collapseID == event.push?.content.collapseID
            }
            successors[event.number] = newer.min()
        }
    }
}
