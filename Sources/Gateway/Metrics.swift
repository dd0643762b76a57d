package import PushCore
package import Reactor

/// The numbers behind the metrics: written by loops, read by the admin thread. All are atomic, none is locked.
package final class Metrics: Sendable {
    /// How a device connection ended its opening.
    package enum Handshake: String, CaseIterable, Sendable {
        case accepted
        case tlsFailed = "tls_failed"
        case timedOut = "timed_out"
        case malformed
        case foreignCertificate = "foreign_certificate"
        case wrongPurpose = "wrong_purpose"
        case certificateExpired = "certificate_expired"
        case notEnrolled = "not_enrolled"
        case badSignature = "bad_signature"
        case staleNonce = "stale_nonce"
        case replayedNonce = "replayed_nonce"
    }

    /// What became of a provider token that was not in a cache.
    package enum Verification: String, CaseIterable, Sendable {
        case accepted
        case invalid
        case expired
        case wrongEnvironment = "wrong_environment"
        case tooMany = "too_many"
    }

    private let requests = cells(Rejection.allCases.count + 1)
    private let verifications = cells(Verification.allCases.count)
    private let accepted = cells(PushType.allCases.count + 1)
    private let discarded = cells(DiscardCause.allCases.count)
    private let handshakes = cells(Handshake.allCases.count)
    package let deliveredLive = AtomicCell()
    package let deliveredFromStorage = AtomicCell()
    package let providerConnections = AtomicCell()
    package let sessions = AtomicCell()
    package let held = AtomicCell()
    package let registrations = AtomicCell()
    package let redeliveries = AtomicCell()
    package let refusedConnections = AtomicCell()
    package let longestTurnNanoseconds = AtomicCell()
    package let requestSeconds = Histogram.latency()
    package let deliverySeconds = Histogram.latency()

    package init() {}

    /// Counts an answer; nil is 200.
    package func answered(_ rejection: Rejection?) {
        requests[rejection.map { Self.index($0) + 1 } ?? 0].add(1)
    }

    package func verified(_ result: Verification) { verifications[Self.index(result)].add(1) }
    package func accepted(_ type: PushType?) { accepted[type.map { Self.index($0) + 1 } ?? 0].add(1) }
    package func discarded(_ cause: DiscardCause) { discarded[Self.index(cause)].add(1) }
    package func handshake(_ result: Handshake) { handshakes[Self.index(result)].add(1) }

    package var acceptedTotal: Int { accepted.reduce(0) { $0 + $1.value } }
    package var deliveredTotal: Int { deliveredLive.value + deliveredFromStorage.value }

    /// Status, reason and count of each kind of answer that was given.
    package var answers: [(status: Int, reason: String, count: Int)] {
        [(200, "", requests[0].value)]
            + Rejection.allCases.enumerated().map { ($1.status, $1.rawValue, requests[$0 + 1].value) }
    }

    package var verificationCounts: [(String, Int)] { Self.pairs(Verification.self, verifications) }
    package var discardCounts: [(String, Int)] { Self.pairs(DiscardCause.self, discarded) }
    package var handshakeCounts: [(String, Int)] { Self.pairs(Handshake.self, handshakes) }
    package var acceptedCounts: [(String, Int)] {
        [("none", accepted[0].value)]
            + PushType.allCases.enumerated().map { ($1.rawValue, accepted[$0 + 1].value) }
    }

    private static func cells(_ count: Int) -> [AtomicCell] { (0..<count).map { _ in AtomicCell() } }

    private static func index<Case: CaseIterable & Equatable>(_ value: Case) -> Int {
        var index = 0
        for other in Case.allCases {
            if other == value { return index }
            index += 1
        }
        preconditionFailure("a case is not among its type's cases")
    }

    private static func pairs<Case: CaseIterable & RawRepresentable<String>>(
        _ type: Case.Type,
        _ cells: [AtomicCell]
    ) -> [(String, Int)] {
        zip(Case.allCases, cells).map { ($0.rawValue, $1.value) }
    }
}

/// Counts values into fixed bounds, for Prometheus and for quantiles.
package final class Histogram: Sendable {
    /// Upper bounds in the unit of `observe`, rising.
    package let bounds: [Int]
    private let counts: [AtomicCell]
    private let total = AtomicCell()
    /// How many units of `observe` make one of the metric's unit.
    package let divisor: Double

    package init(bounds: [Int], divisor: Double) {
        self.bounds = bounds
        self.divisor = divisor
        counts = (0...bounds.count).map { _ in AtomicCell() }
    }

    /// From 50 microseconds to a minute, observed in nanoseconds, told in seconds.
    package static func latency() -> Histogram {
        let microseconds = [
            50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
            2_000_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
        ]
        return Histogram(bounds: microseconds.map { $0 * 1000 }, divisor: 1e9)
    }

    package func observe(_ value: Int) {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        counts[index].add(1)
        total.add(value)
    }

    /// Cumulative count per bound, then the count of all.
    package var cumulative: [Int] {
        var sum = 0
        return counts.map {
            sum += $0.value
            return sum
        }
    }

    package var sum: Double { Double(total.value) / divisor }

    /// The bound under which the share `quantile` of all values lies, in the metric's unit; nil without values.
    package func quantile(_ quantile: Double) -> Double? {
        let cumulative = cumulative
        guard let all = cumulative.last, all > 0 else { return nil }
        let wanted = Double(all) * quantile
        let index = cumulative.firstIndex { Double($0) >= wanted } ?? bounds.count
        return Double(bounds[min(index, bounds.count - 1)]) / divisor
    }
}
