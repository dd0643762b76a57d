package import Reactor

/// The one thread that writes to the store. Whatever waits when it turns to its mailbox becomes one transaction, so
/// the cost of a sync is shared by all pushes that came during the one before.
package final class StoreThread: Sendable {
    /// Called on the store's thread: nil when the change is durable.
    package typealias Done = @Sendable (StoreError?) -> Void
    /// Called on the store's thread with what was read.
    package typealias PayloadsDone = @Sendable (Result<[[UInt8]?], StoreError>) -> Void

    private let inbox: Mailbox<StoreMessage>
    /// nil for one without a thread.
    private let worker: Worker?
    private let loop: Locked<StoreLoop>
    private let gauges = StoreGauges()
    private let clock: @Sendable () -> Int64

    /// Starts the thread. `store` has been loaded; nobody else touches it from now on.
    package init(store: sending any MessageStore, hooks: StoreHooks? = nil) throws(SystemError) {
        inbox = try Mailbox()
        clock = Clock.monotonic
        let loop = Locked(try StoreLoop(store: store, inbox: inbox, gauges: gauges, hooks: hooks ?? StoreHooks()))
        self.loop = loop
        // Locked for as long as it lives: so the loop's state needs no promise that only its thread touches it.
        worker = try Worker(name: "store") { loop.withLock { $0.run() } }
    }

    /// The same without a thread, for a simulation: its work is done in `turn`, at the time that `clock` tells.
    package init(turnedByHand store: sending any MessageStore, clock: @escaping @Sendable () -> Int64)
        throws(SystemError)
    {
        inbox = try Mailbox()
        self.clock = clock
        let loop = try StoreLoop(store: store, inbox: inbox, gauges: gauges, hooks: StoreHooks())
        loop.clock = clock
        self.loop = Locked(loop)
        worker = nil
    }

    /// One turn of a store without a thread: takes what was submitted, reads, and writes what is due.
    package func turn() { loop.withLock { $0.turn() } }

    /// Makes `changes` durable, those of one submission together, and those of several in the order in which they
    /// were submitted.
    ///
    /// `done` is called on the store's thread once the transaction has committed, with nil, or failed, with the reason:
    /// then none of the changes is stored. Discards are the exception. They are recorded within 100 ms, together with
    /// others; if they fail they are tried again. `done` waits for them only if there is nothing else in `changes`.
    /// Nothing may be submitted after `stop`.
    package func submit(_ changes: [StoreChange], done: Done? = nil) {
        gauges.depth.add(changes.count)
        inbox.post(.changes(changes, at: clock(), done: done))
    }

    /// Reads the payloads of pushes whose append was committed, by number, in that order; nil for one that is gone.
    /// `done` is called on the store's thread; reading goes on while commits fail or are held.
    package func read(_ numbers: [UInt64], done: @escaping PayloadsDone) { inbox.post(.read(numbers, done: done)) }

    /// While on, nothing is committed: for tests.
    package func hold(_ on: Bool) { inbox.post(.hold(on)) }

    /// Makes the next `count` transactions fail: for tests.
    package func fail(next count: Int) { inbox.post(.fail(count)) }

    /// Calls `answer` on the store's thread when that comes to it: also while commits fail or are held.
    package func whenTurned(_ answer: @escaping @Sendable () -> Void) { inbox.post(.turn(answer)) }

    /// Commits all that was submitted. False if some of it failed or `milliseconds` passed first.
    package func flush(milliseconds: Int) -> Bool {
        let reply = Reply<Bool>()
        inbox.post(.flush(reply))
        return reply.wait(milliseconds: milliseconds) ?? false
    }

    /// Commits what waits, also what is held, closes the store, and returns when the thread has ended.
    package func stop() {
        inbox.post(.stop)
        if let worker { worker.join() } else { loop.withLock { $0.run() } }
    }

    /// How it is doing now.
    package var statistics: StoreStatistics { gauges.read(at: clock()) }
}

/// What the store's thread tells when it happens. Called on that thread; keep it short.
package struct StoreHooks: Sendable {
    /// A transaction or upkeep failed after one that did not.
    package var failed: @Sendable (StoreError) -> Void
    /// A transaction committed after one that failed.
    package var recovered: @Sendable () -> Void

    package init(
        failed: @escaping @Sendable (StoreError) -> Void = { _ in },
        recovered: @escaping @Sendable () -> Void = {}
    ) {
        self.failed = failed
        self.recovered = recovered
    }
}

/// What other threads tell the store's.
enum StoreMessage: Sendable {
    case changes([StoreChange], at: Int64, done: StoreThread.Done?)
    case read([UInt64], done: StoreThread.PayloadsDone)
    case hold(Bool)
    case fail(Int)
    case flush(Reply<Bool>)
    case turn(@Sendable () -> Void)
    case stop
}
