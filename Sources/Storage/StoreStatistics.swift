import Reactor

/// How often values fell between bounds, for a Prometheus histogram.
package struct StoreHistogram: Equatable, Sendable {
    /// The upper bound of each bucket but the last, which has none.
    package let bounds: [Double]
    /// One more than there are bounds; not cumulative.
    package private(set) var counts: [Int]
    /// Of all values.
    package private(set) var sum: Double = 0

    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// How many values.
    package var count: Int { counts.reduce(0, +) }

    /// Counts one value.
    package mutating func add(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }
}

/// How the store's thread is doing.
package struct StoreStatistics: Sendable {
    /// Transactions that were committed.
    package internal(set) var commits = 0
    /// Transactions that failed.
    package internal(set) var failures = 0
    /// How long transactions took.
    package internal(set) var commitSeconds = StoreHistogram(
        bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
    )
    /// Changes written per transaction.
    package internal(set) var batchSize = StoreHistogram(
        bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000]
    )
    /// Pushes that were over before they were written, and so never were.
    package internal(set) var cancelled = 0
    /// Changes that were refused because too many waited.
    package internal(set) var refused = 0
    /// Deletes that were given up after they failed too often; their pushes come again with the next start.
    package internal(set) var discardsGivenUp = 0
    /// Changes submitted and not yet answered.
    package internal(set) var queueDepth = 0
    /// How long the oldest waiting change has waited.
    package internal(set) var lagSeconds: Double = 0
    /// The last transaction failed. The store is probed each second until one succeeds.
    package var isFailing: Bool { lastError != nil }
    /// Why the last transaction failed; nil when it did not.
    package internal(set) var lastError: StoreError?
}

/// What the store's thread writes and any thread reads.
final class StoreGauges: Sendable {
    private let statistics = Locked((statistics: StoreStatistics(), oldest: Int64?.none))
    let depth = AtomicCell()

    func read(at now: Int64) -> StoreStatistics {
        var (statistics, oldest) = statistics.withLock { $0 }
        statistics.queueDepth = max(0, depth.value)
        if let oldest { statistics.lagSeconds = Double(max(0, now - oldest)) / 1e9 }
        return statistics
    }

    func update(_ body: (inout StoreStatistics) -> Void) { statistics.withLock { body(&$0.statistics) } }

    /// Since when the oldest change waits; nil when none does.
    func waiting(since oldest: Int64?) { statistics.withLock { $0.oldest = oldest } }
}
