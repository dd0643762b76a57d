import PushCore
import Reactor
import Storage
import TLS

/// The copy of the store that a backup is made from: made on a thread of its own while pushes go on, and one at a time.
/// `carillon backup` reads it and takes it away; one that nobody took makes way for the next.
final class Backups: Sendable {
    /// How far a copy is.
    enum State: Sendable {
        case running(done: Int, total: Int)
        case done(StoreFacts)
        case failed(String)
    }

    /// A copy, as the admin API shows it.
    struct Copy: Sendable {
        let id: String
        let startedAt: Moment
        var state: State
        /// Nobody wants it any longer.
        var isCancelled = false
    }

    /// Where the copy lies.
    let path: String
    private let storePath: String
    private let last = Locked(Copy?.none)

    init(storePath: String) {
        self.storePath = storePath
        path = backupCopyPath(of: storePath)
    }

    /// The last copy; nil when there is none.
    var current: Copy? { last.withLock { $0 } }

    /// Begins a copy and says which. nil when one is being made, or there is no thread for it.
    func begin(at now: Moment, _ log: Log) -> Copy? {
        let copy = Copy(id: hexadecimal(SecureRandom.bytes(8)), startedAt: now, state: .running(done: 0, total: 0))
        let isFree = last.withLock { last -> Bool in
            if case .running? = last?.state { return false }
            last = copy
            return true
        }
        guard isFree else { return nil }
        do throws(SystemError) {
            _ = try Worker(name: "backup") { self.make(log) }
        } catch {
            last.withLock { $0 = nil }
            return nil
        }
        return copy
    }

    /// Takes the copy away, also one that is being made. False if it is not the last one.
    func remove(_ id: String) -> Bool {
        let state = last.withLock { last -> State? in
            guard let copy = last, copy.id == id else { return nil }
            last?.isCancelled = true
            if case .running = copy.state { return copy.state }
            last = nil
            return copy.state
        }
        if case .done? = state { removeStoreCopy(path) }
        return state != nil
    }

    /// Ends a copy that is being made, and returns when its thread does nothing any more. One that is just being looked
    /// through is not waited for longer than a stop may take; the next start takes it away.
    func stop() {
        last.withLock { $0?.isCancelled = true }
        let end = Clock.monotonic() + 5_000_000_000
        while case .running? = current?.state, Clock.monotonic() < end { idle(milliseconds: 10) }
    }

    private func make(_ log: Log) {
        let state: State
        do throws(StoreError) {
            let facts = try copyStore(storePath, to: path) { done, total in
                self.last.withLock { last in
                    last?.state = .running(done: done, total: total)
                    return last?.isCancelled == false
                }
            }
            state = .done(facts)
            log.info("store copied for a backup", LogField("pushes", facts.pushes), LogField("devices", facts.devices))
        } catch {
            state = .failed("\(error)")
            log.error("store cannot be copied for a backup", LogField("error", error))
        }
        let isWanted = last.withLock { last -> Bool in
            let isWanted = last?.isCancelled == false
            if isWanted { last?.state = state } else { last = nil }
            return isWanted
        }
        if !isWanted { removeStoreCopy(path) }
    }
}
