import PushCore
import Reactor
import Storage
import TestSupport

/// What survives a crash of the simulated gateway: a store's contents, and how it is to fail.
final class SimulatedDisk: Sendable {
    /// Numbers are set aside in blocks, as the real store does, so that none is given twice after a crash.
    private static let reservedBlock: UInt64 = 1 << 14

    /// What is on it, and what is to happen to it.
    private struct State {
        let store = MemoryStore()
        var reserved: UInt64 = 0
        var failsNext = 0
        var commits = 0
        var failures = 0
        var written: [StoreChange] = []
    }

    private let state = Locked(State())

    /// Makes the next transactions fail.
    func fail(next count: Int) { state.withLock { $0.failsNext = count } }

    /// Transactions that failed so far.
    var failures: Int { state.withLock { $0.failures } }

    /// Transactions that were written so far.
    var commits: Int { state.withLock { $0.commits } }

    /// Hands over what was written since the last time.
    func takeWritten() -> [StoreChange] {
        state.withLock { state in
            defer { state.written = [] }
            return state.written
        }
    }

    /// Whether a push is stored.
    func holds(_ number: UInt64) -> Bool { payloads([number]) != .success([nil]) }

    func load(at now: Moment) -> Result<StoreSnapshot, StoreError> {
        state.withLock { state in
            Result { () throws(StoreError) in
                var snapshot = try state.store.load(at: now)
                snapshot.lastPushNumber = state.reserved
                state.reserved += Self.reservedBlock
                // As the store on a disk does: the payloads stay there.
                snapshot.pushes = snapshot.pushes.map(Sample.unloaded)
                return snapshot
            }
        }
    }

    func commit(_ changes: [StoreChange]) -> Result<Void, StoreError> {
        state.withLock { state in
            if state.failsNext > 0 {
                state.failsNext -= 1
                state.failures += 1
                return .failure(StoreError(.failed, "it was told to fail", file: "simulated"))
            }
            for case .append(let push) in changes {
                state.reserved = max(state.reserved, push.number + Self.reservedBlock / 2)
            }
            state.commits += 1
            state.written += changes
            return Result { () throws(StoreError) in try state.store.commit(changes) }
        }
    }

    func payloads(_ numbers: [UInt64]) -> Result<[[UInt8]?], StoreError> {
        state.withLock { state in
            Result { () throws(StoreError) in try state.store.payloads(numbers) }
        }
    }
}

/// One process's hold on the disk: after a crash the next process has another.
final class SimulatedStore: MessageStore {
    private let disk: SimulatedDisk

    init(_ disk: SimulatedDisk) { self.disk = disk }

    func load(at now: Moment) throws(StoreError) -> StoreSnapshot { try disk.load(at: now).get() }
    func payloads(_ numbers: [UInt64]) throws(StoreError) -> [[UInt8]?] { try disk.payloads(numbers).get() }
    func commit(_ changes: [StoreChange]) throws(StoreError) { try disk.commit(changes).get() }
    func maintain(at now: Moment) throws(StoreError) -> Bool { false }
    func close() {}
}
