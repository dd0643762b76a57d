import Client
import Testing

@Suite struct LatencyHistogramTests {
    @Test func `an empty histogram says zero`() {
        let histogram = LatencyHistogram()
        #expect(histogram.count == 0 && histogram.max == 0 && histogram.mean == 0 && histogram.percentile(99) == 0)
    }

    @Test func `small values are exact`() {
        var histogram = LatencyHistogram()
        for value in 1...100 { histogram.record(Int64(value)) }
        #expect(histogram.percentile(50) == 50)
        #expect(histogram.percentile(99) == 99)
        #expect(histogram.percentile(100) == 100)
        #expect(histogram.mean == 50.5)
    }

    @Test(arguments: [0.0, 1, 50, 90, 99, 99.9, 99.99, 100])
    func `a percentile is two thousandths too long at most`(percent: Double) {
        var histogram = LatencyHistogram()
        for value in 1...100_000 { histogram.record(Int64(value) * 7_919) }
        let exact = max(1, (percent * 1_000).rounded(.up)) * 7_919
        let found = Double(histogram.percentile(percent))
        #expect(found >= exact && found <= exact * 1.002)
    }

    @Test(arguments: 0..<41)
    func `no bucket near a power of two is too wide`(power: Int) {
        let whole = Int64(1) << Int64(power)
        for value in [whole - 1, whole, whole + 1] where value < 1_800_000_000_000 {
            var histogram = LatencyHistogram()
            histogram.record(value)
            histogram.record(value * 2 + 1)
            #expect(Double(histogram.percentile(50)) <= Double(value) * 1.002)
            #expect(histogram.percentile(50) >= value)
        }
    }

    @Test func `what is out of range counts at the edge`() {
        var histogram = LatencyHistogram()
        histogram.record(-5)
        histogram.record(.max)
        #expect(histogram.count == 2)
        #expect(histogram.percentile(50) == 0)
        #expect(histogram.max == .max)
        #expect(histogram.percentile(100) <= .max)
    }
}
