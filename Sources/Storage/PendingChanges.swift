import PushCore

/// What waits for the next transaction, and when that is due. A pure value: time comes in.
struct PendingChanges {
    /// The bounds and delays of the store's queue.
    enum Limits {
        /// Changes in a transaction: more make it longer, not cheaper (6.4 µs each at 2000, 7.7 at 200).
        static let changes = 2_000
        /// Deletes in a transaction; they are as cheap, and two per append let a backlog shrink.
        static let discards = 4_000
        /// How long an acknowledgement may wait for others. It has to be recorded 100 ms after it came, and a commit
        /// takes up to 40 ms.
        static let discardDelay: Int64 = 50_000_000
        /// How long a store that failed is left alone, but for new work.
        static let retryDelay: Int64 = 1_000_000_000
        /// Changes that wait; more are refused. 600 bytes each, with their pushes: 60 MB.
        static let waiting = 100_000
        /// Numbers that wait to be deleted, also those that failed: 8 MB.
        static let waitingDiscards = 1_000_000
    }

    private struct Submission {
        let changes: [StoreChange]
        let at: Int64
        let done: StoreThread.Done?
    }

    private var submissions: [Submission] = []
    private var changeCount = 0
    private var discards = LazyDiscards()
    /// Before it nothing is deleted, because deleting failed a moment ago.
    private var discardsNotBefore: Int64 = .min

    var isEmpty: Bool { submissions.isEmpty && discards.count == 0 }

    /// Since when the oldest change waits; acknowledgements count from when they are due.
    var oldest: Int64? {
        let due = discards.oldest.map { $0 + Limits.discardDelay }
        guard let first = submissions.first?.at else { return due }
        return min(first, due ?? first)
    }

    /// Takes in a submission. Its discards wait for others. False if there is no room for the rest.
    mutating func add(_ changes: [StoreChange], at now: Int64, done: StoreThread.Done?) -> Bool {
        let numbers = changes.compactMap { if case .discard(let number) = $0 { number } else { nil } }
        let isLazy = numbers.count == changes.count && !changes.isEmpty
        // Never refused: what they are for has happened, and memory already bounds how many there can be.
        discards.add(numbers, at: now, done: isLazy ? done : nil)
        if isLazy { return true }
        guard changeCount < Limits.waiting else { return false }
        let urgent = numbers.isEmpty ? changes : changes.filter { if case .discard = $0 { false } else { true } }
        submissions.append(Submission(changes: urgent, at: now, done: done))
        changeCount += urgent.count
        return true
    }

    /// When `next` will have something; nil when nothing waits.
    func deadline() -> Int64? {
        guard submissions.isEmpty else { return .min }
        guard let oldest = discards.oldest else { return nil }
        let due = discards.count >= Limits.discards ? oldest : oldest + Limits.discardDelay
        return max(due, discardsNotBefore)
    }

    /// Takes the next transaction out; nil when none is due. `all` takes what could still wait, too.
    mutating func next(at now: Int64, all: Bool = false) -> StoreTransaction? {
        guard let deadline = all && !isEmpty ? .min : deadline(), deadline <= now else { return nil }
        var transaction = StoreTransaction(oldest: oldest ?? now)
        takeSubmissions(into: &transaction)
        if all || isDiscardDue(at: now) { takeDiscards(into: &transaction) }
        return transaction
    }

    /// Keeps the deletes of a transaction that failed. Returns how many were given up.
    mutating func failed(_ transaction: StoreTransaction, at now: Int64) -> Int {
        guard !transaction.discards.isEmpty else { return 0 }
        discardsNotBefore = now + Limits.retryDelay
        return discards.putBack(transaction.discards, at: transaction.oldest, limit: Limits.waitingDiscards)
    }

    private func isDiscardDue(at now: Int64) -> Bool {
        guard let oldest = discards.oldest, now >= discardsNotBefore else { return false }
        return discards.count >= Limits.discards || oldest + Limits.discardDelay <= now
    }

    private mutating func takeSubmissions(into transaction: inout StoreTransaction) {
        var taken = 0
        while taken < submissions.count, transaction.changes.count < Limits.changes {
            transaction.changes += submissions[taken].changes
            if let done = submissions[taken].done { transaction.dones.append(done) }
            taken += 1
        }
        submissions.removeFirst(taken)
        changeCount -= transaction.changes.count
        transaction.count = transaction.changes.count
        dropFinished(from: &transaction)
    }

    /// A push that is over before it was written needs no write and no delete.
    private mutating func dropFinished(from transaction: inout StoreTransaction) {
        var first = UInt64.max
        for case .append(let push) in transaction.changes { first = min(first, push.number) }
        guard first < .max, discards.count > 0 else { return }
        let finished = discards.numbers(from: first)
        guard !finished.isEmpty else { return }
        var gone: Set<UInt64> = []
        transaction.changes.removeAll { change in
            guard case .append(let push) = change, finished.contains(push.number) else { return false }
            gone.insert(push.number)
            return true
        }
        discards.cancel(gone)
        transaction.cancelled = gone.count
    }

    private mutating func takeDiscards(into transaction: inout StoreTransaction) {
        let taken = discards.take(limit: Limits.discards)
        transaction.discards = taken.numbers
        transaction.changes += taken.numbers.map { .discard($0) }
        transaction.dones += taken.dones
        transaction.count += taken.count
    }
}

/// What is written at once, and who waits for it.
struct StoreTransaction {
    var changes: [StoreChange] = []
    /// The numbers that `changes` deletes, ascending.
    var discards: [UInt64] = []
    var dones: [StoreThread.Done] = []
    /// Changes that were submitted for it, also those that need no write.
    var count = 0
    /// Pushes that were over before they were written.
    var cancelled = 0
    let oldest: Int64

    init(oldest: Int64) { self.oldest = oldest }
}
