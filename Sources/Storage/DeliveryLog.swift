package import PushCore
import Reactor

/// What became of each push: for operators, not for delivery. Written by a thread of its own, off the hot path; a
/// crash may cost its last second.
package final class DeliveryLog: Sendable {
    /// Called with why a log was put aside and where it lies now; on the caller's thread or on the log's.
    package typealias PutAside = @Sendable (StoreError, String) -> Void

    private let events: Mailbox<DeliveryEvent>
    private let requests: Mailbox<DeliveryRequest>
    private let worker: Worker
    private let gauges = DeliveryGauges()
    private let followers = DeliveryFollowers()
    private let file: String

    /// Events that may wait for the log's thread; what comes on top is dropped and counted. About 30 MB.
    private static let waitingLimit = 200_000
    /// How long `find` waits for the log's thread: several scans of the largest log.
    private static let findMilliseconds = 30_000

    /// Opens or makes the log; without a path it is in memory only. It keeps records for `keep`, and no more than
    /// `rows`, the newest. A log that is damaged, or another program's, is put aside: it is not the queue.
    package init(
        path: String?,
        keep: Interval,
        rows: Int,
        putAside: @escaping PutAside = { _, _ in }
    ) throws(StoreError) {
        let gauges = gauges
        let place = DeliveryFile(path: path, keep: keep, rows: rows) { error, aside in
            gauges.wasPutAside()
            putAside(error, aside)
        }
        let table = try place.open()
        gauges.note(rows: table.rows, error: nil)
        file = place.name
        do {
            events = try Mailbox()
            requests = try Mailbox()
            let loop = Locked(
                try DeliveryLoop(
                    DeliveryRows(place: place, table: table),
                    events: events,
                    requests: requests,
                    gauges: gauges,
                    followers: followers
                )
            )
            // Locked for as long as it lives: so the loop's state needs no promise that only its thread touches it.
            worker = try Worker(name: "deliveries") { loop.withLock { $0.run() } }
        } catch {
            throw Self.translated(error, place.name)
        }
    }

    /// Takes events in and leaves the array empty. One post, from any thread.
    package func record(_ events: inout [DeliveryEvent]) {
        guard gauges.admit(events.count, limit: Self.waitingLimit) else { return events.removeAll() }
        self.events.post(contentsOf: &events)
    }

    /// The records that fit, the newest first; they include all that was recorded before the call. From any thread, and
    /// it blocks: a filter other than `after` reads the whole log.
    package func find(_ query: DeliveryQuery) throws(StoreError) -> [DeliveryRecord] {
        let reply = Reply<Result<[DeliveryRecord], StoreError>>()
        requests.post(.find(query, reply))
        guard let result = reply.wait(milliseconds: Self.findMilliseconds) else {
            throw StoreError(.failed, "the log did not answer in time", file: file)
        }
        return try result.get()
    }

    /// Follows the log from now on.
    package func follow() -> DeliverySubscription {
        let subscription = followers.add()
        requests.post(.follow)
        return subscription
    }

    /// Writes what waits and returns when the thread has ended. Nothing may be recorded or looked for after it.
    package func stop() {
        requests.post(.stop)
        worker.join()
        for subscription in followers.current() { subscription.cancel() }
    }

    /// How it is doing now.
    package var statistics: DeliveryStatistics { gauges.read() }

    private static func translated(_ error: SystemError, _ file: String) -> StoreError {
        StoreError(.cannotOpen, "\(error)", file: file, remedy: "raise the limit of open files or threads")
    }
}

/// How the delivery log is doing.
package struct DeliveryStatistics: Sendable {
    /// Pushes in the log.
    package internal(set) var rows = 0
    /// Events that were lost: too many waited, or they could not be written.
    package internal(set) var dropped = 0
    /// How often a damaged log was put aside and another begun.
    package internal(set) var putAside = 0
    /// Why the last write failed; nil when it did not.
    package internal(set) var lastError: StoreError?
}

/// What other threads ask of the log's thread.
enum DeliveryRequest: Sendable {
    case find(DeliveryQuery, Reply<Result<[DeliveryRecord], StoreError>>)
    case follow
    case stop
}

/// What the log's thread writes and any thread reads.
final class DeliveryGauges: Sendable {
    private let statistics = Locked(DeliveryStatistics())
    private let waiting = AtomicCell()

    func read() -> DeliveryStatistics { statistics.withLock { $0 } }

    /// False if there is no room for `count` more events.
    func admit(_ count: Int, limit: Int) -> Bool {
        guard waiting.value + count <= limit else {
            drop(count)
            return false
        }
        waiting.add(count)
        return true
    }

    func took(_ count: Int) { waiting.add(-count) }
    func wasPutAside() { statistics.withLock { $0.putAside += 1 } }
    func drop(_ count: Int) { statistics.withLock { $0.dropped += count } }

    func note(rows: Int, error: StoreError?) {
        statistics.withLock { statistics in
            statistics.rows = rows
            statistics.lastError = error
        }
    }
}
