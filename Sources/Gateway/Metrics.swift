package import HTTP2
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
        case quarantined
    }

    /// Why a connection was closed before its TLS.
    package enum Refused: String, CaseIterable, Sendable {
        case connections
        case address
        case failures
        case silence
        case handshakes
        case proxy
        case notTLS = "not_tls"
    }

    /// What became of a provider token that was not in a cache.
    package enum Verification: String, CaseIterable, Sendable {
        case accepted
        case invalid
        case expired
        case wrongEnvironment = "wrong_environment"
        case tooMany = "too_many"
    }

    private let requests = AtomicCells(count: Rejection.allCases.count + 1)
    private let verifications = AtomicCells(count: Verification.allCases.count)
    private let lints = AtomicCells(count: ProviderLint.allCases.count)
    private let accepted = AtomicCells(count: PushType.allCases.count + 1)
    private let discarded = AtomicCells(count: DiscardCause.allCases.count)
    private let abuses = AtomicCells(count: HTTP2Abuse.allCases.count)
    private let handshakes = AtomicCells(count: Handshake.allCases.count)
    /// Pushes that a device acknowledged without their having waited.
    package let deliveredLive = AtomicCell()
    /// Pushes that a device acknowledged after they had waited.
    package let deliveredFromStorage = AtomicCell()
    /// Open provider connections.
    package let providerConnections = AtomicCell()
    /// Open device sessions.
    package let sessions = AtomicCell()
    /// Pushes accepted and neither acknowledged nor discarded.
    package let held = AtomicCell()
    /// Active registrations.
    package let registrations = AtomicCell()
    /// Pushes sent again for want of an acknowledgement.
    package let redeliveries = AtomicCell()
    /// Reloads that took what was new.
    package let goodReloads = AtomicCell()
    /// Reloads that found something broken and changed nothing.
    package let failedReloads = AtomicCell()
    private let refusals = AtomicCells(count: Refused.allCases.count)
    /// TLS handshakes in progress, at both doors.
    package let openHandshakes = AtomicCell()
    /// Turns that left handshakes for the next.
    package let delayedHandshakes = AtomicCell()
    /// Reads of payloads from the store that failed.
    package let storeReadFailures = AtomicCell()
    /// Waiting pushes that the store no longer had.
    package let lostPushes = AtomicCell()
    /// The longest turn of any loop since the last sweep.
    package let longestTurnNanoseconds = AtomicCell()
    /// Sessions that ended because the device broke the protocol.
    package let deviceFaults = AtomicCell()
    /// Age of provider tokens when they are first seen, in seconds; below zero their clock is ahead of ours.
    package let providerTokenAge = Histogram(
        bounds: [-3600, -300, -60, -30, -5, 0, 5, 30, 60, 300, 1200, 3000, 3600],
        divisor: 1
    )
    /// From a request to its answer.
    package let requestSeconds = Histogram.latency()
    /// From acceptance to acknowledgement, of live pushes.
    package let deliverySeconds = Histogram.latency()

    package init() {}

    /// Counts an answer; nil is 200.
    package func answered(_ rejection: Rejection?) {
        requests.add(1, at: rejection.map { Self.index($0) + 1 } ?? 0)
    }

    /// Counts a provider token that was checked.
    package func verified(_ result: Verification) { verifications.add(1, at: Self.index(result)) }
    /// Counts an oddity of a provider.
    package func noticed(_ lint: ProviderLint) { lints.add(1, at: Self.index(lint)) }
    /// Counts a push that was answered 200.
    package func accepted(_ type: PushType?) { accepted.add(1, at: type.map { Self.index($0) + 1 } ?? 0) }
    /// Counts a push that will not be delivered.
    package func discarded(_ cause: DiscardCause) { discarded.add(1, at: Self.index(cause)) }
    /// Counts providers' streams and connections that were cut off.
    package func abuse(_ kind: HTTP2Abuse, _ count: Int) { abuses.add(count, at: Self.index(kind)) }
    /// Counts how a device's opening ended.
    package func handshake(_ result: Handshake) { handshakes.add(1, at: Self.index(result)) }

    /// Counts a connection that was closed before its TLS.
    func refused(_ cause: Refused) { refusals.add(1, at: Self.index(cause)) }

    /// Pushes answered 200.
    package var acceptedTotal: Int { accepted.values.reduce(0, +) }
    /// Pushes acknowledged by a device.
    package var deliveredTotal: Int { deliveredLive.value + deliveredFromStorage.value }

    /// Status, reason and count of each kind of answer that was given.
    package var answers: [(status: Int, reason: String, count: Int)] {
        let counts = requests.values
        return [(200, "", counts[0])]
            + zip(Rejection.allCases, counts.dropFirst()).map { ($0.status, $0.rawValue, $1) }
    }

    /// By result, for the label of that name.
    package var verificationCounts: [(String, Int)] { Self.pairs(Verification.self, verifications) }
    /// By oddity.
    package var lintCounts: [(String, Int)] { Self.pairs(ProviderLint.self, lints) }
    /// By cause.
    package var discardCounts: [(String, Int)] { Self.pairs(DiscardCause.self, discarded) }
    /// By result.
    package var handshakeCounts: [(String, Int)] { Self.pairs(Handshake.self, handshakes) }
    /// By kind.
    package var abuseCounts: [(String, Int)] { Self.pairs(HTTP2Abuse.self, abuses) }
    /// By cause.
    package var refusalCounts: [(String, Int)] { Self.pairs(Refused.self, refusals) }
    /// By push type; `none` when the provider did not say.
    package var acceptedCounts: [(String, Int)] {
        let counts = accepted.values
        return [("none", counts[0])] + zip(PushType.allCases, counts.dropFirst()).map { ($0.rawValue, $1) }
    }

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
        _ cells: AtomicCells
    ) -> [(String, Int)] {
        zip(Case.allCases, cells.values).map { ($0.rawValue, $1) }
    }
}

/// Counts values into fixed bounds, for Prometheus and for quantiles.
package final class Histogram: Sendable {
    /// Upper bounds in the unit of `observe`, rising.
    package let bounds: [Int]
    private let counts: AtomicCells
    private let total = AtomicCell()
    /// How many units of `observe` make one of the metric's unit.
    package let divisor: Double

    package init(bounds: [Int], divisor: Double) {
        self.bounds = bounds
        self.divisor = divisor
        counts = AtomicCells(count: bounds.count + 1)
    }

    /// From 50 microseconds to a minute, observed in nanoseconds, told in seconds.
    package static func latency() -> Histogram {
        let microseconds = [
            50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
            2_000_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
        ]
        return Histogram(bounds: microseconds.map { $0 * 1000 }, divisor: 1e9)
    }

    /// Counts one value.
    package func observe(_ value: Int) {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        counts.add(1, at: index)
        total.add(value)
    }

    /// Cumulative count per bound, then the count of all.
    package var cumulative: [Int] {
        var sum = 0
        return counts.values.map {
            sum += $0
            return sum
        }
    }

    /// Of all values, in the metric's unit.
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
