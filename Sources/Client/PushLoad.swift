package import Reactor
import TLS
import Wire

/// How hard a load pushes.
package struct LoadShape: Sendable {
    /// Provider connections.
    package var connections = 10
    /// Requests without an answer per connection.
    package var inFlight = 100
    /// Requests per second, planned beforehand; nil sends the next when one is answered.
    package var rate: Double?

    package init() {}
}

/// A provider that sends as fast as it may or at a rate, and the devices that get it: all on the caller's thread, so
/// that one clock measures both.
package final class PushLoad {
    /// After this long without an answer or a delivery nothing more is expected.
    private static let patienceNanoseconds: Int64 = 10_000_000_000
    /// How long a turn waits at most.
    private static let turnNanoseconds: Int64 = 100_000_000
    /// A sleep ends this much late at worst; the rest of the time to a planned moment is waited for awake.
    private static let slackNanoseconds: Int64 = 60_000
    private static let fleetToken = UInt64.max

    /// Asked once a turn, at least ten times a second; true ends what is going on with `.interrupted`.
    package var isInterrupted: () -> Bool = { false }

    private let target: LoadTarget
    private let shape: LoadShape
    private let fleet: CourierFleet?
    private let transport = TLSTransport()
    private var links: [ProviderLink] = []
    private var poller: Poller
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var answers: [ProviderConversation.Answer] = []
    /// The link whose turn it is to send.
    private var cursor = 0
    private var fleetTurn: Int64 = 0

    private var requests: ProviderRequests?
    private var ledger = PushLedger(count: 0)
    private var mark: UInt32 = 0
    private var next = 0
    private var start: Int64 = 0
    private var lastProgress: Int64 = 0

    /// `fleet` has connected; nil if nobody is to get the pushes.
    package init(_ target: LoadTarget, shape: LoadShape, fleet: CourierFleet? = nil) throws(LoadError) {
        self.target = target
        self.shape = shape
        self.fleet = fleet
        poller = try systemLoad { () throws(SystemError) in try Poller() }
        if let fleet {
            try systemLoad { () throws(SystemError) in
                try poller.add(fleet.pollNumber, token: Self.fleetToken, for: .read)
            }
        }
    }

    /// Connects the provider. `caPEM` are the authorities to trust; nil verifies nothing.
    package func connect(to destination: Destination, caPEM: [UInt8]?) throws(LoadError) {
        let context = try linked { () throws(CourierError) in
            try secure { () throws(TLSError) in try TLSContext.client(caPEM: caPEM, alpn: ["h2"]) }
        }
        for index in 0..<shape.connections {
            let link = try ProviderLink(
                to: destination,
                limit: shape.inFlight,
                context: context,
                transport: transport
            )
            try systemLoad { () throws(SystemError) in try poller.add(link.number, token: UInt64(index), for: .read) }
            links.append(link)
        }
        let end = Clock.monotonic() + Self.patienceNanoseconds
        while !links.allSatisfy(\.isReady) {
            try turn(waiting: Self.turnNanoseconds)
            guard Clock.monotonic() < end else {
                throw .notConnected("not every provider connection was ready in ten seconds")
            }
        }
    }

    /// Sends `count` pushes and waits for their answers, and for the deliveries if there is a fleet. `server` is the
    /// process whose CPU time is to be told.
    package func run(count: Int, server: Int32? = nil) throws(LoadError) -> LoadResult {
        mark = UInt32.random(in: 0...UInt32.max)
        let requests = try ProviderRequests(target, mark: mark, tableSize: links.map(\.tableSize).min() ?? 4096)
        guard !links.contains(where: { $0.refuses(bodyCount: requests.bodyCount) }) else {
            throw .protocolBroken("the server takes no body of \(requests.bodyCount) bytes")
        }
        self.requests = requests
        ledger = PushLedger(count: count)
        next = 0
        let failuresBefore = fleet?.failureCount ?? 0
        let clock = LoadClock(server: server)
        start = clock.start
        lastProgress = start
        var now = start
        while ledger.answeredCount < count || (fleet != nil && ledger.owedCount > 0) {
            try send(requests, at: now)
            try turn(waiting: wait(from: now))
            now = Clock.monotonic()
            if now - lastProgress > Self.patienceNanoseconds { break }
        }
        var result = LoadResult()
        clock.stop(into: &result)
        if let fleet, fleet.failureCount > failuresBefore { result.lastFailure = fleet.lastFailure?.description }
        fill(&result)
        return result
    }

    /// Takes leave of the server.
    package func close() { for link in links { link.close() } }

    private func fill(_ result: inout LoadResult) {
        result.count = ledger.count
        for (status, count) in ledger.statuses.enumerated() where count > 0 { result.statuses[status] = count }
        result.unanswered = ledger.count - ledger.answeredCount
        result.answers = ledger.answers
        result.isOpenLoop = shape.rate != nil
        guard fleet != nil else { return }
        result.deliveries = LoadDeliveries(
            delivered: ledger.deliveredCount,
            missing: ledger.owedCount,
            repeated: ledger.repeatedCount,
            latency: ledger.deliveries
        )
    }

    /// Sends what is due, as far as the connections have room: one after the other, each with one write.
    private func send(_ requests: ProviderRequests, at now: Int64) throws(LoadError) {
        let due = shape.rate.map { min(ledger.count, Int(Double(now - start) / 1e9 * $0) + 1) } ?? ledger.count
        for _ in links.indices where next < due {
            let link = links[cursor]
            let first = next
            while next < due, link.mayOpen(bodyCount: requests.bodyCount) {
                let planned = plannedMoment(of: next) ?? now
                ledger.plan(next, at: planned)
                link.open(next, planned: planned, requests)
                next += 1
            }
            if next > first { try link.flush(poller, token: UInt64(cursor)) }
            cursor = (cursor + 1) % links.count
        }
    }

    /// When a request should go out; nil if as soon as it may.
    private func plannedMoment(of number: Int) -> Int64? {
        shape.rate.map { start + Int64(Double(number) / $0 * 1e9) }
    }

    /// How long nothing need be sent. What is due already and found no room waits for an answer.
    private func wait(from now: Int64) -> Int64 {
        guard next < ledger.count, let planned = plannedMoment(of: next), planned > now else {
            return Self.turnNanoseconds
        }
        return min(Self.turnNanoseconds, max(0, planned - now - Self.slackNanoseconds))
    }

    /// Waits for events, at most so long, and handles them.
    private func turn(waiting nanoseconds: Int64) throws(LoadError) {
        guard !isInterrupted() else { throw .interrupted }
        let count = try systemLoad { () throws(SystemError) in try poller.wait(nanoseconds: nanoseconds) }
        var fleetIsReady = false
        for index in 0..<count {
            let token = poller.event(index).token
            if token == Self.fleetToken { fleetIsReady = true } else { try serve(Int(token)) }
        }
        guard let fleet else { return }
        let now = Clock.monotonic()
        // Now and then also for its own clocks.
        guard fleetIsReady || now - fleetTurn > Self.turnNanoseconds else { return }
        fleetTurn = now
        try linked { () throws(CourierError) in
            try fleet.turn(milliseconds: 0) { _, notification in delivered(notification, at: fleet.readMoment) }
        }
    }

    private func serve(_ index: Int) throws(LoadError) {
        answers.removeAll(keepingCapacity: true)
        try links[index].serve(using: &buffer, answers: &answers)
        if !answers.isEmpty {
            let now = Clock.monotonic()
            lastProgress = now
            for answer in answers { ledger.answered(answer.number, answer.status, at: now) }
        }
        try links[index].flush(poller, token: UInt64(index))
    }

    private func delivered(_ notification: Notify, at moment: Int64) {
        guard let (mark, number) = LoadPayload.read(notification.payload), mark == self.mark else { return }
        lastProgress = moment
        ledger.delivered(number, at: moment)
    }
}
