import PushCore
import Testing

@testable import Gateway

@Suite struct MetricsTests {
    @Test func `a quantile is the bound under which its share lies`() {
        let histogram = Histogram(bounds: [10, 20, 30], divisor: 10)
        for value in [5, 10, 11, 29] { histogram.observe(value) }
        #expect(histogram.quantile(0.5) == 1)
        #expect(histogram.quantile(0.75) == 2)
        #expect(histogram.quantile(1) == 3)
        #expect(histogram.cumulative == [2, 3, 4, 4])
        #expect(histogram.sum == 5.5)
    }

    @Test func `without values there is no quantile`() {
        #expect(Histogram.latency().quantile(0.5) == nil)
    }

    @Test func `what exceeds every bound is counted and shown as the last`() {
        let histogram = Histogram(bounds: [10], divisor: 1)
        histogram.observe(11)
        #expect(histogram.quantile(0.99) == 10)
        #expect(histogram.cumulative == [0, 1])
    }

    @Test func `latency bounds rise`() {
        let bounds = Histogram.latency().bounds
        #expect(bounds == bounds.sorted() && Set(bounds).count == bounds.count)
    }

    @Test func `answers are counted by reason`() {
        let metrics = Metrics()
        metrics.answered(nil)
        for _ in 0..<2 { metrics.answered(.badTopic) }
        let counted = metrics.answers.filter { $0.count > 0 }
        #expect(counted.map(\.status) == [200, 400] && counted.map(\.reason) == ["", "BadTopic"])
        #expect(counted.map(\.count) == [1, 2])
    }

    @Test(arguments: DiscardCause.allCases)
    func `discards are counted by cause`(_ cause: DiscardCause) {
        let metrics = Metrics()
        metrics.discarded(cause)
        #expect(metrics.discardCounts.filter { $0.1 > 0 }.map(\.0) == [cause.rawValue])
    }

    @Test func `accepted pushes are counted by type, also those without one`() {
        let metrics = Metrics()
        metrics.accepted(nil)
        metrics.accepted(.voip)
        #expect(metrics.acceptedCounts.filter { $0.1 > 0 }.map(\.0) == ["none", "voip"])
        #expect(metrics.acceptedTotal == 2)
    }
}
