/// A point in time: nanoseconds since 1970-01-01 UTC. It is passed in, never read, so that a test owns time.
package struct Moment: Comparable, Hashable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    package init(milliseconds: Int64) { nanoseconds = milliseconds * 1_000_000 }
    /// Saturates instead of overflowing: certificates without an end name the year 9999.
    package init(seconds: Int64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        nanoseconds = overflow ? (seconds < 0 ? .min : .max) : product
    }

    /// Whole milliseconds since 1970.
    package var milliseconds: Int64 { nanoseconds / 1_000_000 }
    /// Whole seconds since 1970.
    package var seconds: Int64 { nanoseconds / 1_000_000_000 }

    /// Later than anything that happens (year 2262): what "never" is compared with.
    package static let distantFuture = Moment(nanoseconds: .max)

    package static func < (a: Moment, b: Moment) -> Bool { a.nanoseconds < b.nanoseconds }

    /// The moment `interval` after this one; saturates instead of overflowing.
    package static func + (a: Moment, interval: Interval) -> Moment {
        Moment(nanoseconds: saturatingSum(a.nanoseconds, interval.nanoseconds))
    }

    /// The moment `interval` before this one; saturates instead of overflowing.
    package static func - (a: Moment, interval: Interval) -> Moment {
        Moment(nanoseconds: saturatingDifference(a.nanoseconds, interval.nanoseconds))
    }

    /// The time from `b` to `a`; saturates instead of overflowing.
    package static func - (a: Moment, b: Moment) -> Interval {
        Interval(nanoseconds: saturatingDifference(a.nanoseconds, b.nanoseconds))
    }
}

/// A length of time in nanoseconds. `Duration` would do, but costs 128-bit arithmetic on each push.
package struct Interval: Comparable, Hashable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// So many thousandths of a second.
    package static func milliseconds(_ count: Int64) -> Interval { Interval(nanoseconds: count * 1_000_000) }
    /// So many seconds.
    package static func seconds(_ count: Int64) -> Interval { Interval(nanoseconds: count * 1_000_000_000) }
    /// So many days of 24 hours.
    package static func days(_ count: Int64) -> Interval { seconds(count * 86_400) }
    /// No time at all.
    package static let zero = Interval(nanoseconds: 0)

    /// The same length as a fraction of seconds, for metrics and JSON.
    package var fractionalSeconds: Double { Double(nanoseconds) / 1e9 }
    /// Whole milliseconds.
    package var milliseconds: Int64 { nanoseconds / 1_000_000 }

    package static func < (a: Interval, b: Interval) -> Bool { a.nanoseconds < b.nanoseconds }

    /// Both together; saturates instead of overflowing.
    package static func + (a: Interval, b: Interval) -> Interval {
        Interval(nanoseconds: saturatingSum(a.nanoseconds, b.nanoseconds))
    }

    /// What `a` is longer than `b`; saturates instead of overflowing.
    package static func - (a: Interval, b: Interval) -> Interval {
        Interval(nanoseconds: saturatingDifference(a.nanoseconds, b.nanoseconds))
    }
}

private func saturatingSum(_ a: Int64, _ b: Int64) -> Int64 {
    let (sum, overflow) = a.addingReportingOverflow(b)
    return overflow ? (b < 0 ? .min : .max) : sum
}

private func saturatingDifference(_ a: Int64, _ b: Int64) -> Int64 {
    let (difference, overflow) = a.subtractingReportingOverflow(b)
    return overflow ? (a < b ? .min : .max) : difference
}
