import PushCore
import Reactor

/// What the store's thread does and holds; nobody else has it.
final class StoreLoop {
    private let store: any MessageStore
    private let inbox: Mailbox<StoreMessage>
    private let gauges: StoreGauges
    private let hooks: StoreHooks
    /// What time it is, in nanoseconds since some moment.
    var clock: @Sendable () -> Int64 = Clock.monotonic
    private var poller: Poller
    private var messages: [StoreMessage] = []
    private var pending = PendingChanges()
    private var reads: [(numbers: [UInt64], done: StoreThread.PayloadsDone)] = []
    private var flushes: [Reply<Bool>] = []
    private var isHeld = false
    private var isStopping = false
    private var failuresToMake = 0
    /// When to try a failing store without new work; nil when it does not fail.
    private var probeAt: Int64?
    /// When to do upkeep; nil when there is none.
    private var upkeepAt: Int64?

    /// When to look whether the store is still in its place.
    private var checkAt: Int64

    /// How often that is.
    private static let checkInterval: Int64 = 1_000_000_000
    /// How long nothing must have happened before upkeep.
    private static let idleDelay: Int64 = 1_000_000_000

    init(
        store: sending any MessageStore,
        inbox: Mailbox<StoreMessage>,
        gauges: StoreGauges,
        hooks: StoreHooks
    ) throws(SystemError) {
        self.store = store
        self.inbox = inbox
        self.gauges = gauges
        self.hooks = hooks
        checkAt = Clock.monotonic() + Self.checkInterval
        poller = try Poller(batch: 1)
        try poller.add(inbox.number, token: 0, for: .read)
    }

    /// Returns when it was told to stop and all is written.
    func run() {
        while !isStopping {
            wait()
            turn()
        }
        finish()
    }

    /// Takes what has come, and does what is due.
    func turn() {
        takeMessages()
        readPayloads()
        work(at: clock())
    }

    private func wait() {
        let milliseconds = millisecondsToWait(at: clock())
        guard milliseconds != 0 else { return }
        do { _ = try poller.wait(milliseconds: milliseconds) } catch {
            preconditionFailure("the store cannot wait for work: \(error)")
        }
    }

    /// Until the next thing is due; -1 when only a message can bring work.
    private func millisecondsToWait(at now: Int64) -> Int32 {
        guard reads.isEmpty else { return 0 }
        guard !isHeld else { return -1 }
        let due = [pending.deadline(), probeAt, upkeepAt].compactMap { $0 }.reduce(checkAt, min)
        guard due > now else { return 0 }
        return Int32(clamping: (due - now + 999_999) / 1_000_000)
    }

    private func takeMessages() {
        inbox.take(into: &messages)
        for message in messages {
            switch message {
            case .changes(let changes, let at, let done): add(changes, at: at, done: done)
            case .read(let numbers, let done): reads.append((numbers, done))
            case .hold(let on): isHeld = on
            case .fail(let count): failuresToMake = count
            case .flush(let reply): flushes.append(reply)
            case .turn(let answer): answer()
            case .stop: isStopping = true
            }
        }
        messages.removeAll(keepingCapacity: true)
        gauges.waiting(since: pending.oldest)
    }

    private func add(_ changes: [StoreChange], at: Int64, done: StoreThread.Done?) {
        guard !pending.add(changes, at: at, done: done) else { return }
        let refused = changes.count { if case .discard = $0 { false } else { true } }
        gauges.depth.add(-refused)
        gauges.update { $0.refused += refused }
        done?(StoreError(.overloaded, "\(PendingChanges.Limits.waiting) changes already wait", file: "the store"))
    }

    /// Answers one request: what is to be written waits for no more.
    private func readPayloads() {
        guard !reads.isEmpty else { return }
        let (numbers, done) = reads.removeFirst()
        done(Result { () throws(StoreError) in try store.payloads(numbers) })
    }

    private func work(at now: Int64) {
        guard !isHeld else { return }
        if !flushes.isEmpty {
            flush(at: now)
        } else if let transaction = pending.next(at: now) {
            commit(transaction)
        } else if let probeAt, probeAt <= now {
            commit(pending.next(at: now, all: true) ?? StoreTransaction(oldest: now))
        } else if checkAt <= now {
            check(at: now)
        } else if let upkeepAt, upkeepAt <= now {
            maintain(at: now)
        }
    }

    private func flush(at now: Int64) {
        var isWhole = true
        while isWhole, let transaction = pending.next(at: now, all: true) { isWhole = commit(transaction) }
        for reply in flushes { reply.set(isWhole) }
        flushes.removeAll()
    }

    @discardableResult
    private func commit(_ transaction: StoreTransaction) -> Bool {
        // Until it is committed all of it waits, however long that takes.
        gauges.waiting(since: transaction.oldest)
        let start = clock()
        let error = write(transaction)
        let end = clock()
        note(transaction, error: error, seconds: Double(end - start) / 1e9)
        // At the end there is no next time: a delete that fails now is a push that comes again after the start.
        if error != nil && !isStopping {
            let lost = pending.failed(transaction, at: end)
            gauges.update { $0.discardsGivenUp += lost }
        }
        probeAt = error == nil ? nil : end + PendingChanges.Limits.retryDelay
        upkeepAt = end + Self.idleDelay
        gauges.depth.add(-transaction.count)
        gauges.waiting(since: pending.oldest)
        for done in transaction.dones { done(error) }
        return error == nil
    }

    /// Writes it; a transaction in which nothing is left costs nothing, unless it is a probe.
    private func write(_ transaction: StoreTransaction) -> StoreError? {
        guard !transaction.changes.isEmpty || probeAt != nil else { return nil }
        if failuresToMake > 0 {
            failuresToMake -= 1
            return StoreError(.test, "a test made it fail", file: "the store")
        }
        do {
            try store.commit(transaction.changes)
            return nil
        } catch {
            return error
        }
    }

    private func note(_ transaction: StoreTransaction, error: StoreError?, seconds: Double) {
        let failedBefore = probeAt != nil
        gauges.update { statistics in
            statistics.lastError = error
            statistics.cancelled += transaction.cancelled
            if error != nil { statistics.failures += 1 }
            guard error == nil, !transaction.changes.isEmpty else { return }
            statistics.commits += 1
            statistics.commitSeconds.add(seconds)
            statistics.batchSize.add(Double(transaction.changes.count))
        }
        if let error, !failedBefore { hooks.failed(error) }
        if error == nil, failedBefore { hooks.recovered() }
    }

    /// A store that lost its file while nothing was written must not wait for the next push to say so.
    private func check(at now: Int64) {
        checkAt = now + Self.checkInterval
        // A store that fails is probed anyway.
        guard probeAt == nil else { return }
        do {
            try store.check()
        } catch {
            gauges.update { $0.lastError = error }
            probeAt = now + PendingChanges.Limits.retryDelay
            hooks.failed(error)
        }
    }

    private func maintain(at now: Int64) {
        do {
            let hasMore = try store.maintain(at: Moment(nanoseconds: Clock.wall()))
            upkeepAt = hasMore ? now + Self.idleDelay : nil
        } catch {
            // Upkeep that fails loses nothing; it comes again with the next commit.
            upkeepAt = nil
            hooks.failed(error)
        }
    }

    private func finish() {
        isHeld = false
        while !reads.isEmpty { readPayloads() }
        flush(at: clock())
        // Flushing ends at the first failure; everyone gets an answer.
        while let transaction = pending.next(at: .max, all: true) { commit(transaction) }
        store.close()
    }
}
