import PushCore
import Reactor

/// Pushes per second over the last ten seconds, from the counters and the time of each look at them.
final class Rates: Sendable {
    /// What the counters said at a moment of the monotonic clock.
    private struct Sample {
        let at: Int64
        let accepted: Int
        let delivered: Int
    }

    private let metrics: Metrics
    private let samples = Locked<[Sample]>([])
    private static let span: Int64 = 10_000_000_000

    init(_ metrics: Metrics) { self.metrics = metrics }

    /// Takes a sample; called each second.
    func sample(at now: Int64) {
        let sample = Sample(at: now, accepted: metrics.acceptedTotal, delivered: metrics.deliveredTotal)
        samples.withLock { samples in
            samples.append(sample)
            samples.removeAll { now - $0.at > Self.span }
        }
    }

    func current(at now: Int64) -> (accepted: Double, delivered: Double) {
        let oldest = samples.withLock { $0.first }
        guard let oldest, now > oldest.at else { return (0, 0) }
        let seconds = Double(now - oldest.at) / 1e9
        return (
            Double(metrics.acceptedTotal - oldest.accepted) / seconds,
            Double(metrics.deliveredTotal - oldest.delivered) / seconds
        )
    }
}
