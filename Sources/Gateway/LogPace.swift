import PushCore

/// Lets a line of a kind through now and then, and counts those between.
struct LogPace {
    private let interval: Interval
    private var next = Moment(nanoseconds: .min)
    private var left = 0

    init(every interval: Interval) { self.interval = interval }

    /// How many lines were left out since the last one; nil if this one is left out, too. A clock that was set back
    /// counts as time that has passed.
    mutating func admit(at now: Moment) -> Int? {
        guard now >= next || next - now > interval else {
            left += 1
            return nil
        }
        next = now + interval
        defer { left = 0 }
        return left
    }
}
