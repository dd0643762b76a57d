/// How long things took, by count: buckets that are two thousandths wide, so that millions of values need no memory of
/// their own and the tail is as exact as the middle.
package struct LatencyHistogram: Sendable {
    /// Buckets per power of two, as a power of two itself.
    private static let precisionBits = 9
    /// Longer than an hour is an hour: whoever waits so long has another problem than its exact length.
    private static let limitNanoseconds: Int64 = 3_600_000_000_000

    private var buckets = [Int](repeating: 0, count: Self.bucket(of: limitNanoseconds) + 1)
    private var sum = 0.0
    /// How many values were recorded.
    package private(set) var count = 0
    /// The longest, exactly; 0 if there is none.
    package private(set) var max: Int64 = 0

    package init() {}

    /// The average in nanoseconds, exactly; 0 if there is none.
    package var mean: Double { count == 0 ? 0 : sum / Double(count) }

    /// Counts a value. A negative one, which only a clock that was set back gives, counts as 0.
    package mutating func record(_ nanoseconds: Int64) {
        let value = Swift.max(nanoseconds, 0)
        buckets[Self.bucket(of: min(value, Self.limitNanoseconds))] += 1
        count += 1
        sum += Double(value)
        max = Swift.max(max, value)
    }

    /// The value that `percent` of 100 values do not exceed, at most two thousandths too long; 0 if there is none.
    package func percentile(_ percent: Double) -> Int64 {
        let rank = Swift.max(1, Int((Double(count) * min(percent, 100) / 100).rounded(.up)))
        var seen = 0
        for index in buckets.indices {
            seen += buckets[index]
            if seen >= rank { return min(Self.longest(in: index), max) }
        }
        return max
    }

    /// Values below the width of a power's buckets have one each; above, the leading bits choose.
    private static func bucket(of value: Int64) -> Int {
        let shift = Swift.max(0, Int64.bitWidth - 1 - value.leadingZeroBitCount - precisionBits)
        return shift << precisionBits + Int(value >> Int64(shift))
    }

    private static func longest(in bucket: Int) -> Int64 {
        let shift = Swift.max(0, bucket >> precisionBits - 1)
        return Int64(bucket - shift << precisionBits + 1) << Int64(shift) - 1
    }
}
