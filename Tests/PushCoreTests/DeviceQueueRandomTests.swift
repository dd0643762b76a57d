import PushCore
import TestSupport
import Testing

/// A queue under random events, judged by a witness. The seed of a failure is the argument it names.
@Suite struct DeviceQueueRandomTests {
    @Test(arguments: SeededRandom.seeds, [QueuePolicy.Mode.queue, .apple])
    func `whatever happens every promise is kept`(_ seed: UInt64, _ mode: QueuePolicy.Mode) {
        var run = RandomRun(seed: seed, mode: mode)
        for step in 0..<1_500 {
            run.step()
            #expect(run.complaints == [], "seed \(seed), step \(step)")
            if !run.complaints.isEmpty { return }
        }
    }

    @Test(arguments: SeededRandom.seeds)
    func `in the end everything accepted has ended once`(_ seed: UInt64) {
        var run = RandomRun(seed: seed, mode: .queue)
        for _ in 0..<500 { run.step() }
        run.deliverAll()
        #expect(run.complaints == [], "seed \(seed)")
        #expect(run.bench.queue.heldCount == 0)
    }
}

/// One queue, its witness, and what may happen to them.
private struct RandomRun {
    var bench: QueueBench
    var witness: QueueWitness
    var complaints: [String] { witness.complaints + extra }
    private var random: SeededRandom
    private var number: UInt64 = 0
    private var extra: [String] = []
    private let lanes: ClosedRange<UInt64> = 1...4

    init(seed: UInt64, mode: QueuePolicy.Mode) {
        random = SeededRandom(seed: seed)
        let (window, limit, backlog) = (random.pick([1, 3, 8]), random.pick([1, 5]), random.pick([2, 10]))
        bench = QueueBench(lanes: lanes) { policy in
            (policy.mode, policy.window, policy.limit, policy.backlog) = (mode, window, limit, backlog)
        }
        witness = QueueWitness(policy: bench.queue.policy)
    }

    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45: add()
        case 45..<70: acknowledge()
        case 70..<80: pass()
        case 80..<85: open()
        case 85..<91: filter()
        case 91..<94: wake()
        case 94..<96: close()
        case 96..<98: withdraw()
        case 98: bench.queue.unloadPayloads(acceptedBefore: bench.now + .seconds(1)) { _ in true }
        default: restart()
        }
        settle()
    }

    /// A patient device takes all there is.
    mutating func deliverAll() {
        bench.room = Limits.unsentBytes
        bench.close()
        witness.see(bench.takeEffects(), at: bench.now)
        witness.sessionEnded()
        (witness.isAwake, witness.modes) = (true, Dictionary(uniqueKeysWithValues: lanes.map { ($0, .enabled) }))
        bench.connect()
        settle()
        while let next = witness.flights.first {
            bench.room = Limits.unsentBytes
            bench.acknowledge(UInt32(next))
            settle()
        }
    }

    private mutating func add() {
        number += 1
        let age = random.pick([Interval.zero, .seconds(-5), .seconds(45), .days(1), .days(1), .days(1)])
        let push = Sample.push(
            number,
            registration: UInt64.random(in: lanes, using: &random),
            priority: random.pick(Priority.allCases),
            expires: bench.now + age,
            collapseID: random.pick(["", "", "a", "b"]),
            payload: [UInt8](repeating: 32, count: random.pick([1, 4_096])),
            at: bench.now
        )
        bench.room = random.once(in: 4) ? 6_000 : Limits.unsentBytes
        // Whether it is tried at once or not makes no difference to what is right.
        if random.once(in: 2) {
            let queued = QueuedPush(push)
            var room = bench.room
            if bench.queue.sendAtOnce(queued, at: bench.now, room: &room) {
                bench.room = room
                witness.offered(push, .accepted)
                return witness.see([.send(queued, .live)], at: bench.now)
            }
        }
        var effects: [QueueEffect] = []
        witness.offered(push, bench.queue.add(QueuedPush(push), at: bench.now, into: &effects))
        witness.see(effects, at: bench.now)
        bench.pump()
    }

    private mutating func acknowledge() {
        guard !witness.flights.isEmpty else { return }
        bench.acknowledge(UInt32(random.pick(witness.flights)), status: random.once(in: 10) ? 1 : 0)
    }

    private mutating func pass() {
        bench.room = random.once(in: 4) ? 100 : Limits.unsentBytes
        bench.pass(random.pick([.seconds(1), .seconds(10), .seconds(31), .seconds(61)]))
        witness.see(bench.takeEffects(), at: bench.now)
        if let deadline = bench.queue.nextDeadline(after: bench.now), deadline <= bench.now {
            extra.append("the next deadline is in the past")
        }
    }

    private mutating func open() {
        let isAwake = random.once(in: 2)
        bench.open(awake: isAwake)
        witness.see(bench.takeEffects(), at: bench.now)
        witness.sessionEnded()
        witness.isAwake = isAwake
        filter()
    }

    private mutating func filter() {
        let choices: [TopicMode] = [.enabled, .enabled, .enabled, .opportunistic, .paused, .unlisted, .ignored]
        let modes = Dictionary(uniqueKeysWithValues: lanes.map { ($0, random.pick(choices)) })
        if witness.isAwake != nil { witness.modes = modes }
        bench.filter { modes[$0] ?? .unlisted }
    }

    private mutating func wake() {
        let isAwake = random.once(in: 2)
        if witness.isAwake != nil { witness.isAwake = isAwake }
        bench.wake(isAwake)
    }

    private mutating func close() {
        bench.close()
        witness.see(bench.takeEffects(), at: bench.now)
        witness.sessionEnded()
    }

    /// The store failed for one that is neither old nor ended.
    private mutating func withdraw() {
        guard let last = witness.heldNumbers.last, let push = witness.pushes[last], !push.isOnce else { return }
        if bench.withdraw(push) { witness.withdrawn(push) }
        bench.pump()
    }

    private mutating func restart() {
        let kept = witness.heldNumbers.compactMap { witness.pushes[$0] }.filter { !$0.isOnce }
        var next = QueueBench(lanes: lanes) { [policy = bench.queue.policy] in $0 = policy }
        next.now = bench.now
        bench = next
        witness.restarted()
        for push in kept { bench.restore(push) }
    }

    private mutating func settle() {
        witness.see(bench.takeEffects(), at: bench.now)
        witness.pumped(at: bench.now, room: bench.room)
        let held = lanes.flatMap { bench.queue.held(for: $0) }.map(\.number).sorted()
        if held != witness.heldNumbers { extra.append("held: \(held), not \(witness.heldNumbers)") }
        if bench.queue.heldCount != held.count { extra.append("miscounted: \(bench.queue.heldCount)") }
        if bench.queue.flightCount != witness.flights.count { extra.append("in flight: \(bench.queue.flightCount)") }
    }
}
