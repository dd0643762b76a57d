import PushCore
import Reactor

/// What the delivery log's thread does and holds; nobody else has it.
final class DeliveryLoop {
    private let rows: DeliveryRows
    private let events: Mailbox<DeliveryEvent>
    private let requests: Mailbox<DeliveryRequest>
    private let gauges: DeliveryGauges
    private let followers: DeliveryFollowers
    /// Wakes for events and requests: while nothing waits.
    private var idle: Poller
    /// Wakes for requests only: events that come while others wait need not wake anyone.
    private var busy: Poller
    private var arrived: [DeliveryEvent] = []
    private var asked: [DeliveryRequest] = []
    private var waiting: [DeliveryEvent] = []
    /// When `waiting` is written.
    private var flushAt: Int64?
    /// The pushes that a flush left waiting.
    private var left: Set<UInt64> = []
    private var isStopping = false

    /// Long enough that most pushes are delivered before they are written, and so cost one row and no change.
    private static let flushInterval: Int64 = 500_000_000
    /// With someone who looks on.
    private static let followedInterval: Int64 = 20_000_000

    init(
        _ rows: DeliveryRows,
        events: Mailbox<DeliveryEvent>,
        requests: Mailbox<DeliveryRequest>,
        gauges: DeliveryGauges,
        followers: DeliveryFollowers
    ) throws(SystemError) {
        self.rows = rows
        self.events = events
        self.requests = requests
        self.gauges = gauges
        self.followers = followers
        idle = try Poller(batch: 2)
        busy = try Poller(batch: 1)
        try idle.add(events.number, token: 0, for: .read)
        try idle.add(requests.number, token: 1, for: .read)
        try busy.add(requests.number, token: 1, for: .read)
    }

    /// Returns when it was told to stop and all is written.
    func run() {
        while !isStopping {
            wait()
            // Requests first: who asks sees all that was recorded before.
            requests.take(into: &asked)
            takeEvents()
            schedule(at: Clock.monotonic())
            answer()
            if let flushAt, flushAt <= Clock.monotonic() { flush(all: false) }
        }
        takeEvents()
        flush(all: true)
    }

    private func wait() {
        do {
            guard let flushAt else { return _ = try idle.wait(milliseconds: -1) }
            let left = flushAt - Clock.monotonic()
            guard left > 0 else { return }
            _ = try busy.wait(milliseconds: Int32(clamping: (left + 999_999) / 1_000_000))
        } catch {
            preconditionFailure("the delivery log cannot wait for work: \(error)")
        }
    }

    private func takeEvents() {
        events.take(into: &arrived)
        gauges.took(arrived.count)
        waiting += arrived
        arrived.removeAll(keepingCapacity: true)
    }

    private func schedule(at now: Int64) {
        guard !waiting.isEmpty else { return flushAt = nil }
        let latest = now + (followers.current().isEmpty ? Self.flushInterval : Self.followedInterval)
        flushAt = min(flushAt ?? latest, latest)
    }

    private func answer() {
        for request in asked {
            switch request {
            case .find(let query, let reply):
                flush(all: true)
                reply.set(
                    Result { () throws(StoreError) in
                        try rows.use { table throws(StoreError) in try table.find(query) }
                    }
                )
            case .follow: break
            case .stop: isStopping = true
            }
        }
        asked.removeAll(keepingCapacity: true)
    }

    /// Writes what waits. A push that came since the last time and may still change stays for the next, unless `all`.
    private func flush(all: Bool) {
        guard !waiting.isEmpty else { return }
        flushAt = nil
        let subscriptions = followers.current()
        let groups = grouped(waiting)
        waiting.removeAll(keepingCapacity: true)
        let leftBefore = left
        left.removeAll(keepingCapacity: true)

        var due: [ArraySlice<DeliveryEvent>] = []
        for group in groups {
            guard let last = group.last else { continue }
            if all || last.state.isFinal || leftBefore.contains(last.number) || !subscriptions.isEmpty {
                due.append(group)
            } else {
                waiting += group
                left.insert(last.number)
            }
        }
        write(due)
        for subscription in subscriptions { tell(due, to: subscription) }
        schedule(at: Clock.monotonic())
    }

    private func write(_ groups: [ArraySlice<DeliveryEvent>]) {
        do {
            try rows.use { table throws(StoreError) in try table.write(groups) }
            gauges.note(rows: rows.count, error: nil)
            try rows.use { table throws(StoreError) in try table.maintain() }
        } catch {
            // Not tried again: the log may have gaps, and a disk that is full must not fill the memory.
            gauges.drop(groups.reduce(0) { $0 + $1.count })
            gauges.note(rows: rows.count, error: error)
        }
    }

    private func tell(_ groups: [ArraySlice<DeliveryEvent>], to subscription: DeliverySubscription) {
        for group in groups {
            guard let latest = group.last else { continue }
            // A record that cannot be read is the log's fault, which is noted where it was written.
            let found = try? rows.use { table throws(StoreError) in try table.record(latest.number) }
            guard let record = found ?? nil else { continue }
            for earlier in stride(from: group.count - 1, through: 0, by: -1) {
                if let record = record.before(last: earlier) { subscription.add(record) }
            }
        }
    }
}

/// Events by push, and the pushes in the order in which they came.
private func grouped(_ events: [DeliveryEvent]) -> [ArraySlice<DeliveryEvent>] {
    let order = events.indices.sorted { (events[$0].number, $0) < (events[$1].number, $1) }
    let sorted = order.map { events[$0] }
    var groups: [(place: Int, events: ArraySlice<DeliveryEvent>)] = []
    var start = 0
    for index in sorted.indices where index + 1 == sorted.count || sorted[index + 1].number != sorted[index].number {
        groups.append((order[start], sorted[start...index]))
        start = index + 1
    }
    return groups.sorted { $0.place < $1.place }.map(\.events)
}
