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
        let server = try ProcessorTime.nanoseconds(of: load.servers)
        let client = ProcessorTime.ofThisThread()
        let start = Clock.monotonic()
        try pass(to: load.warmUp + load.count)
        let end = delivered == flights.count ? Clock.monotonic() : lastHeard
        return LoadResult(
            nanoseconds: end - start,
            delivered: delivered - load.warmUp,
            repeated: repeated,
            latency: histogram,
            serverNanoseconds: try ProcessorTime.nanoseconds(of: load.servers) - server,
            clientNanoseconds: ProcessorTime.ofThisThread() - client
        )
    }

    /// Sends until `goal` messages were sent, and returns when they were delivered and confirmed.
    private func pass(to goal: Int) throws {
        self.goal = goal
        let first = sent
        let start = Clock.monotonic()
        lastHeard = start
        while !isDone {
            let now = Clock.monotonic()
            guard now - lastHeard < Self.patience else { return }
            if let rate = load.rate {
                try publishDue(from: start, first, every: 1e9 / Double(rate), now)
            } else {
                try publish(upTo: goal) { _ in now }
            }
            try fleet.turn(milliseconds: wait(from: start, first)) { note($0, $1, at: $2) }
        }
    }

    private var isDone: Bool { delivered >= goal && (!Talk.confirms || confirmed >= goal) }

    /// Until the next message is due; with less than a millisecond left the loop turns without waiting.
    private func wait(from start: Int64, _ first: Int) -> Int32 {
        guard let rate = load.rate, sent < goal else { return 100 }
        let next = start + Int64(Double(sent - first) * 1e9 / Double(rate))
        return Int32(clamping: min(100, max(0, next - Clock.monotonic()) / 1_000_000))
    }

    private func publishDue(from start: Int64, _ first: Int, every interval: Double, _ now: Int64) throws {
        let due = min(goal, first + Int(Double(now - start) / interval) + 1)
        guard due > sent else { return }
        // As long as the server keeps up no message waits; if it does not, latency still counts from the plan.
        try publish(upTo: due) { start + Int64(Double($0 - first) * interval) }
    }

    /// Lets each publisher send what it may, with one write each.
    private func publish(upTo limit: Int, planned: (Int) -> Int64) throws {
        for index in publishers.indices {
            let left = limit - sent
            guard left > 0 else { return }
            let room = min(left, load.inFlight - publishers[index].inFlight(confirms: Talk.confirms))
            guard room >= min(load.batch, left), room > 0, !fleet.links[index].hasUnsent else { continue }
            // With a rate the next message belongs to the next publisher, or one would send nearly all.
            try publish(load.rate == nil ? room : (room + publishers.count - 1) / publishers.count, by: index, planned)
        }
    }

    private func publish(_ count: Int, by index: Int, _ planned: (Int) -> Int64) throws {
        output.removeAll(keepingCapacity: true)
        for _ in 0..<count {
            flights[sent] = Flight(planned: planned(sent), publisher: Int32(index))
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
