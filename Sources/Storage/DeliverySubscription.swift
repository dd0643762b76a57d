import Reactor

/// One that follows the delivery log: each change of a push gives it the push's record as of then.
///
/// It keeps a bounded number; one that reads too slowly misses the oldest. It ends when it goes.
package final class DeliverySubscription: Sendable {
    /// Records kept for a slow reader: a second's worth of a busy gateway's, about 500 KB.
    static let limit = 1_024

    private struct State {
        var records: [DeliveryRecord] = []
        var missed = 0
        var isCancelled = false
        var waiter: Reply<Void>?
    }

    private let state = Locked(State())

    init() {}

    /// The next record; nil when `milliseconds` pass first or it was cancelled. May be called from any thread.
    package func next(milliseconds: Int) -> DeliveryRecord? {
        let (record, waiter) = state.withLock { state -> (DeliveryRecord?, Reply<Void>?) in
            guard state.records.isEmpty else { return (state.records.removeFirst(), nil) }
            guard !state.isCancelled else { return (nil, nil) }
            let waiter = state.waiter ?? Reply<Void>()
            state.waiter = waiter
            return (nil, waiter)
        }
        guard let waiter, waiter.wait(milliseconds: milliseconds) != nil else { return record }
        return state.withLock { $0.records.isEmpty ? nil : $0.records.removeFirst() }
    }

    /// Ends it; who waits in `next` returns.
    package func cancel() {
        wake { $0.isCancelled = true }
    }

    /// How many records were dropped because nobody took them.
    package var missed: Int { state.withLock { $0.missed } }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func add(_ record: DeliveryRecord) {
        wake { state in
            if state.records.count >= Self.limit {
                state.records.removeFirst()
                state.missed += 1
            }
            state.records.append(record)
        }
    }

    private func wake(_ body: (inout State) -> Void) {
        let waiter = state.withLock { state -> Reply<Void>? in
            body(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.set(())
    }
}

/// Those that follow. They are held weakly: one that nobody reads any more is gone.
final class DeliveryFollowers: Sendable {
    private struct Weak {
        weak var subscription: DeliverySubscription?
    }

    private let list = Locked<[Weak]>([])

    func add() -> DeliverySubscription {
        let subscription = DeliverySubscription()
        list.withLock { $0.append(Weak(subscription: subscription)) }
        return subscription
    }

    /// Those that still follow.
    func current() -> [DeliverySubscription] {
        list.withLock { list in
            list.removeAll { $0.subscription?.isCancelled ?? true }
            return list.compactMap(\.subscription)
        }
    }
}
