import Glibc
package import PushCore

/// The store of one machine: a SQLite file with a write-ahead log, synced at each commit.
package final class SQLiteStore: MessageStore {
    private let path: String
    private var open: Open?
    /// Pushes of a commit that was written and yet refused; the next one takes them out.
    private var refused: [UInt64] = []
    /// Numbers up to this one may have been handed out; see `StoreSnapshot.lastPushNumber`.
    private var reserved: UInt64 = 0
    private var isNew: Bool

    /// How many numbers are set aside at once: writing down each number would cost one more page per transaction.
    private static let reservedBlock: UInt64 = 1 << 24
    /// How often, and after how long, files that seem to be cut are looked at again.
    private static let looks = 5
    private static let lookMicroseconds: UInt32 = 5000

    private struct Open {
        var file: StoreFile
        let database: Database
        let writer: StoreWriter
        let payload: Statement
    }

    /// Opens or makes the file, with mode 0600. One that a newer version wrote is refused and not touched.
    package init(path: String) throws(StoreError) {
        let claim = try StoreClaim(path)
        // A backup that was being made is nobody's now, and may be as large as the store.
        removeStoreCopy(backupCopyPath(of: path))
        // Before SQLite reads it, which would overwrite what is behind the damage.
        try WriteAheadLog.check(path + "-wal")
        let database = try Database(file: path, claim: claim)
        isNew = try StoreSQL.schema.prepare(database)
        try claim.mark(path)
        self.path = path
        open = Open(
            file: StoreFile(path),
            database: database,
            writer: try StoreWriter(database),
            payload: try Statement(database, StoreSQL.payload)
        )
    }

    package func load(at now: Moment) throws(StoreError) -> StoreSnapshot {
        let database = try database()
        let reader = StoreReader(database)
        var snapshot = StoreSnapshot()
        snapshot.apps = try reader.apps()
        snapshot.keys = try reader.keys()
        snapshot.devices = try reader.devices()
        snapshot.registrations = try reader.registrations()
        snapshot.lastRegistrationNumber = try reader.lastNumber(StoreSQL.lastRegistration)
        snapshot.lastPushNumber = try reader.lastNumber(StoreSQL.reserved)
        snapshot.isNew = isNew

        var sieve = PushSieve(at: now)
        try reader.pushes { push in
            sieve.add(push)
            // Above what was reserved only in a file that was changed by hand; the store refuses a number twice.
            snapshot.lastPushNumber = max(snapshot.lastPushNumber, push.number)
        }
        snapshot.pushes = sieve.pushes
        // At once, and the older first: once the newer of two is gone, nothing would tell that the older was replaced.
        try commit(sieve.stale.sorted().map { .discard($0) })
        try reserve(after: snapshot.lastPushNumber)
        // What the log held is now in the database for certain, whatever syncs failed before (decision 0025).
        try database.checkpointWhole()
        try acceptFiles()
        return snapshot
    }

    package func payloads(_ numbers: [UInt64]) throws(StoreError) -> [[UInt8]?] {
        guard let row = open?.payload else { throw closed }
        var payloads: [[UInt8]?] = []
        for number in numbers {
            defer { row.reset() }
            do throws(StoreError) {
                try row.bind(1, number)
                payloads.append(try row.step() ? row.bytes(0) : nil)
            } catch {
                // A row whose pages are damaged is as good as gone, and must not hold up the others.
                guard error.kind == .damaged else { throw error }
                payloads.append(nil)
            }
        }
        return payloads
    }

    package func commit(_ changes: [StoreChange]) throws(StoreError) {
        let ceiling = newCeiling(for: changes)
        // Before, because what is refused must not come back with a file that is put in its place again.
        try check()
        guard let writer = open?.writer else { throw closed }
        do throws(StoreError) {
            try database().transaction { () throws(StoreError) in
                if let ceiling { try writer.reserve(ceiling) }
                for number in refused { try writer.apply(.discard(number)) }
                for change in changes { try writer.apply(change) }
                if changes.isEmpty { try writer.touch() }
            }
        } catch {
            overwrite(after: error)
            throw error
        }
        // And afterwards, because what was just written must be found again by the next start.
        do throws(StoreError) {
            try acceptFiles()
        } catch {
            for case .append(let push) in changes { refused.append(push.number) }
            throw error
        }
        refused = []
        if let ceiling { reserved = ceiling }
        if !changes.isEmpty { isNew = false }
    }

    package func check() throws(StoreError) {
        var cutFile = try findCutFile()
        // Another program may have been at work during the look: then one of the next is clear.
        for _ in 0..<Self.looks where cutFile != nil {
            usleep(Self.lookMicroseconds)
            cutFile = try findCutFile()
        }
        if let cutFile { throw cut(cutFile) }
        open?.file.accept()
    }

    /// The file that has become shorter, although SQLite needs what was there; nil if none has.
    private func findCutFile() throws(StoreError) -> String? {
        try open?.file.checkInPlace()
        if let size = open?.file.cutDatabase {
            // Shorter, and yet all there, it is once somebody has vacuumed it. What cannot be counted is not there.
            let pages = (try? database().number("pragma page_count")) ?? 0
            guard pages > 0, size >= pages * Schema.pageBytes else { return path }
        }
        if let size = open?.file.cutLog {
            // Empty it is once somebody has copied it into the database. If nobody has, SQLite fails to do so, and has
            // changed nothing; it must not copy what is left of a log that was cut.
            guard size == 0, try isLogEmpty() else { return path + "-wal" }
        }
        return nil
    }

    package func maintain(at now: Moment) throws(StoreError) -> Bool {
        // What is wrong with the files is told by the next look at them.
        guard (try? check()) != nil else { return false }
        let database = try database()
        try database.checkpoint()
        let hasMore = try database.vacuumPart()
        try acceptFiles()
        return hasMore
    }

    package func close() { open = nil }

    /// A sync that failed leaves a transaction whole in the log, where the next start would take it for a promised one,
    /// and what it replaces for replaced. So it is written over before anyone is told that it was refused
    /// (decision 0025).
    private func overwrite(after error: StoreError) {
        guard [.failed, .full].contains(error.kind), let writer = open?.writer, let database = open?.database
        else { return }
        // If that fails as well, the next commit does it.
        try? database.transaction { () throws(StoreError) in try writer.touch() }
    }

    /// Looks whether the files are in their place. However long SQLite has left them, that is right.
    private func acceptFiles() throws(StoreError) {
        try open?.file.checkInPlace()
        open?.file.accept()
    }

    /// Whether SQLite, too, takes the log for empty.
    private func isLogEmpty() throws(StoreError) -> Bool {
        let pages: Int64?
        do throws(StoreError) {
            pages = try database().loggedPages()
        } catch {
            // Whatever the reason, SQLite cannot say that all of it is in the database.
            return false
        }
        if let pages { return pages == 0 }
        throw StoreError(
            .failed,
            "another program keeps its log locked",
            file: path,
            remedy: "end the program that works on it (fuser says which)"
        )
    }

    private func cut(_ file: String) -> StoreError {
        // The beginning of a log that has lost its end is one moment of the store; with half of it copied it is none.
        open?.database.keepLogAtClose()
        return StoreError(.damaged, "it has become shorter while it was open", file: file)
    }

    private var closed: StoreError { StoreError(.closed, "the store is closed", file: path) }

    func database() throws(StoreError) -> Database {
        guard let database = open?.database else { throw closed }
        return database
    }

    /// The numbers to set aside before these changes; nil while at least half a block is left.
    private func newCeiling(for changes: [StoreChange]) -> UInt64? {
        var last: UInt64 = 0
        for case .append(let push) in changes { last = max(last, push.number) }
        return last + Self.reservedBlock / 2 > reserved ? last + Self.reservedBlock : nil
    }

    private func reserve(after last: UInt64) throws(StoreError) {
        let ceiling = last + Self.reservedBlock
        guard let writer = open?.writer else { throw closed }
        try database().transaction { () throws(StoreError) in try writer.reserve(ceiling) }
        reserved = ceiling
    }
}
