import BenchmarkSupport
import Client
import Reactor

/// One measurement: warms up, publishes, and waits until everything was delivered and confirmed.
final class LoadRun<Talk: Conversation> {
    /// What became of one publisher's messages.
    private struct Publisher {
        var sent = 0
        var confirmed = 0
        var delivered = 0

        /// Messages that are under way: sent, and not yet both confirmed and delivered.
        func inFlight(confirms: Bool) -> Int { sent - (confirms ? min(confirmed, delivered) : delivered) }
    }

    /// Where one message is. `planned` is when it was or should have been written; 0 after its delivery.
    private struct Flight {
        var planned: Int64
        var publisher: Int32
    }

    private let load: LoadOptions
    private let fleet: PeerFleet<Talk>
    private var publishers: [Publisher]
    private var flights: [Flight]
    /// The publisher that may send first.
    private var cursor = 0
    private var sent = 0
    private var delivered = 0
    private var repeated = 0
    private var confirmed = 0
    private var histogram = LatencyHistogram()
    /// Messages up to here may be sent: first those of the warm-up, then all.
    private var goal = 0
    private var lastHeard: Int64 = 0
    private var output: [UInt8] = []

    /// How long nothing may come before what is missing counts as lost.
    private static var patience: Int64 { 10_000_000_000 }
    /// How long a turn waits at most.
    private static var turnNanoseconds: Int64 { 100_000_000 }
    /// A sleep ends this much late at worst.
    private static var slackNanoseconds: Int64 { 60_000 }

    init(_ load: LoadOptions) throws {
        self.load = load
        fleet = try PeerFleet(load, publishers: load.publishers, subscribers: load.subscribers)
        publishers = Array(repeating: Publisher(), count: load.publishers)
        flights = Array(repeating: Flight(planned: 0, publisher: 0), count: load.warmUp + load.count)
    }

    func run() throws -> LoadResult {
        try fleet.connect()
        try pass(to: load.warmUp)
        guard delivered == load.warmUp else {
            throw PeerError.refused("\(load.warmUp - delivered) messages of the warm-up were lost")
        }
        histogram = LatencyHistogram()
        repeated = 0
        let server = try serverSeconds()
        let client = Clock.threadCPU()
        let start = Clock.monotonic()
        try pass(to: load.warmUp + load.count)
        let end = delivered == flights.count ? Clock.monotonic() : lastHeard
        return LoadResult(
            seconds: Double(end - start) / 1e9,
            delivered: delivered - load.warmUp,
            repeated: repeated,
            latency: histogram,
            serverSeconds: try serverSeconds() - server,
            clientSeconds: Double(Clock.threadCPU() - client) / 1e9
        )
    }

    private func serverSeconds() throws -> Double {
        try load.servers.reduce(0) { sum, process in
            guard let seconds = Machine.cpuSeconds(ofProcess: process) else {
                throw OptionError("there is no process \(process)")
            }
            return sum + seconds
        }
    }

    /// Sends until `goal` messages were sent, and returns when they were delivered and confirmed.
    private func pass(to goal: Int) throws {
        self.goal = goal
        let start = Clock.monotonic()
        let schedule = load.rate.map { Schedule(first: sent, start: start, interval: 1e9 / Double($0)) }
        lastHeard = start
        while !isDone {
            let now = Clock.monotonic()
            guard now - lastHeard < Self.patience else { return }
            try publish(schedule, at: now)
            try fleet.turn(nanoseconds: wait(schedule, from: now)) { note($0, $1, at: $2) }
        }
    }

    private var isDone: Bool { delivered >= goal && (!Talk.confirms || confirmed >= goal) }

    /// Until shortly before the next message is due; the rest of the time is waited for awake. One that is due already
    /// found no room, and waits for what comes.
    private func wait(_ schedule: Schedule?, from now: Int64) -> Int64 {
        guard sent < goal, let planned = schedule?.moment(of: sent), planned > now else { return Self.turnNanoseconds }
        return min(Self.turnNanoseconds, max(0, planned - now - Self.slackNanoseconds))
    }

    /// Lets each publisher send what it may, with one write each. What a schedule makes due is spread over all.
    private func publish(_ schedule: Schedule?, at now: Int64) throws {
        let limit = min(goal, schedule?.due(at: now) ?? goal)
        for turn in publishers.indices where sent < limit {
            let index = (cursor + turn) % publishers.count
            let left = limit - sent
            let others = publishers.count - turn
            let share = schedule == nil ? left : (left + others - 1) / others
            let room = min(share, load.inFlight - publishers[index].inFlight(confirms: Talk.confirms))
            guard room >= min(load.batch, share), !fleet.links[index].hasUnsent else { continue }
            try publish(room, by: index, schedule)
        }
        cursor = (cursor + 1) % publishers.count
    }

    private func publish(_ count: Int, by index: Int, _ schedule: Schedule?) throws {
        output.removeAll(keepingCapacity: true)
        let now = Clock.monotonic()
        for _ in 0..<count {
            // If the server cannot keep up with a schedule, latency still counts from the plan.
            flights[sent] = Flight(planned: schedule?.moment(of: sent) ?? now, publisher: Int32(index))
            // Each publisher goes through all subscribers, each from another one on.
            let step = publishers[index].sent + index * load.subscribers / load.publishers
            fleet.links[index].publish(sent, to: step % load.subscribers, into: &output)
            publishers[index].sent += 1
            sent += 1
        }
        try fleet.send(output, over: index)
    }

    private func note(_ index: Int, _ receipts: borrowing Receipts, at moment: Int64) {
        lastHeard = moment
        if receipts.confirmed > 0 {
            publishers[index].confirmed += receipts.confirmed
            confirmed += receipts.confirmed
        }
        for number in receipts.delivered {
            guard flights.indices.contains(number), flights[number].planned != 0 else {
                repeated += 1
                continue
            }
            histogram.record(moment - flights[number].planned)
            publishers[Int(flights[number].publisher)].delivered += 1
            delivered += 1
            flights[number].planned = 0
        }
    }
}

/// When each message should be sent, decided beforehand, so that a slow server does not make its own load lighter.
private struct Schedule {
    /// The number of the first message, which is due at `start`.
    let first: Int
    let start: Int64
    /// Nanoseconds from one to the next.
    let interval: Double

    func moment(of number: Int) -> Int64 { start + Int64(Double(number - first) * interval) }

    /// Messages up to this number, without it, are due.
    func due(at now: Int64) -> Int { first + Int(Double(now - start) / interval) + 1 }
}
