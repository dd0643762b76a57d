import PushCore
import Reactor

/// Callers whose connections failed lately, and those that failed so often that they are dropped for a while. A pure
/// value. Behind one address may be many devices, so it is not dropped while one of them is in, nor soon after.
struct AddressFailures {
    /// What is remembered of one address.
    private struct Record {
        var count = 0
        /// When the first of them was.
        let since: Moment
        /// Until when it is dropped.
        var until = Moment(nanoseconds: 0)
        /// When one of its connections is tried nevertheless.
        var nextTrial = Moment(nanoseconds: 0)
    }

    /// Failures within the span after which a caller is dropped; 0 drops none.
    var limit: Int
    private var records = RecentTable<Caller, Record>(limit: Limits.rememberedFailures)
    /// When the last that was in has left.
    private var departures = RecentTable<Caller, Moment>(limit: Limits.rememberedFailures)

    init(limit: Int) { self.limit = limit }

    /// Callers that are remembered for their failures.
    var count: Int { records.count }

    /// Counts a failure of a caller of whom nobody is in. True if it is dropped from now on.
    mutating func add(_ caller: Caller, at now: Moment) -> Bool {
        // On this machine everyone has one address, and could do worse than fail.
        guard limit > 0, !caller.network.isLoopback, !isWelcome(caller, at: now) else { return false }
        var record = records[caller] ?? Record(since: now)
        // A clock that was set back begins anew, too.
        let isOver = now - record.since > Limits.failureSpan || now < record.since
        // A trial that fails must not end what it was an exception from.
        if isOver, !self.isDropped(caller, at: now) { record = Record(since: now) }
        record.count += 1
        let isDropped = record.count >= limit && record.until <= now
        if isDropped {
            record.until = now + Limits.penalty
            record.nextTrial = now + Limits.probation
        }
        records[caller] = record
        return isDropped
    }

    /// Someone from there got in.
    mutating func clear(_ caller: Caller) { records[caller] = nil }

    /// The last that was in has left.
    mutating func depart(_ caller: Caller, at now: Moment) {
        if !caller.network.isLoopback { departures[caller] = now }
    }

    private func isWelcome(_ caller: Caller, at now: Moment) -> Bool {
        guard let departure = departures[caller] else { return false }
        return now >= departure && now - departure < Limits.welcome
    }

    func isDropped(_ caller: Caller, at now: Moment) -> Bool {
        guard let record = records[caller] else { return false }
        return now < record.until && record.until - now <= Limits.penalty
    }

    /// Whether a new connection is refused: of a dropped caller one is tried now and then.
    mutating func refuses(_ caller: Caller, at now: Moment) -> Bool {
        guard isDropped(caller, at: now), var record = records[caller] else { return false }
        guard now >= record.nextTrial else { return true }
        record.nextTrial = now + Limits.probation
        records[caller] = record
        return false
    }
}
