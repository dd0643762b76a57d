/// Numbers of pushes that are over, waiting to be deleted.
///
/// An acknowledgement that a crash loses costs one delivery more, so it needs no sync of its own; deleted together and
/// in order they touch a fraction of the pages (measured: twice the pushes per second).
struct LazyDiscards {
    /// What came in one submission.
    private struct Run {
        var count: Int
        let at: Int64
        let done: StoreThread.Done?
    }

    /// In order of arrival; `cancelled` where its push turned out not to need writing.
    private var numbers: [UInt64] = []
    private var runs: [Run] = []
    private static let cancelled: UInt64 = 0

    var count: Int { numbers.count }
    var oldest: Int64? { runs.first?.at }

    mutating func add(_ new: [UInt64], at now: Int64, done: StoreThread.Done?) {
        guard !new.isEmpty else { return }
        numbers += new
        runs.append(Run(count: new.count, at: now, done: done))
    }

    /// The numbers from `first` on, for finding those whose push is not written yet.
    func numbers(from first: UInt64) -> Set<UInt64> {
        var found: Set<UInt64> = []
        for number in numbers where number >= first { found.insert(number) }
        return found
    }

    /// Takes out numbers that need no deleting. Who waits for them still hears about it with the rest.
    mutating func cancel(_ gone: Set<UInt64>) {
        for index in numbers.indices where gone.contains(numbers[index]) { numbers[index] = Self.cancelled }
    }

    /// Takes whole submissions, oldest first, until there are `limit` numbers. In that order, because the number of a
    /// push that was replaced must go no later than that of the push that replaced it.
    mutating func take(limit: Int) -> (numbers: [UInt64], count: Int, dones: [StoreThread.Done]) {
        var (count, taken) = (0, 0)
        while taken < runs.count, count < limit {
            count += runs[taken].count
            taken += 1
        }
        let dones = runs[..<taken].compactMap(\.done)
        let live = numbers[..<count].filter { $0 != Self.cancelled }.sorted()
        numbers.removeFirst(count)
        runs.removeFirst(taken)
        return (live, count, dones)
    }

    /// Puts back, in front, what could not be deleted; nobody waits for it any more. Returns how many of the oldest
    /// were given up to stay within `limit`: their pushes come back with the next start.
    mutating func putBack(_ failed: [UInt64], at: Int64, limit: Int) -> Int {
        let kept = failed.dropFirst(max(0, failed.count + numbers.count - limit))
        guard !kept.isEmpty else { return failed.count }
        numbers.insert(contentsOf: kept, at: 0)
        runs.insert(Run(count: kept.count, at: at, done: nil), at: 0)
        return failed.count - kept.count
    }
}
