import CSQLite
import Glibc

/// The work that keeps a database small; for idle moments.
extension Database {
    /// Pages in a part: about 10 ms of work.
    private static let vacuumPages: Int64 = 200

    /// Free pages are reused, so they are given back only when they are a quarter of a file and over 64 MiB.
    static let freePagesWorthVacuum: Int64 = 64 << 20 / 4096

    /// Copies what the write-ahead log holds into the database.
    func checkpoint() throws(StoreError) {
        try execute("pragma wal_checkpoint(passive)")
    }

    /// Does the same with all of it, and empties the log, unless another program reads from it now.
    func checkpointWhole() throws(StoreError) {
        try execute("pragma wal_checkpoint(truncate)")
    }

    /// Pages that are in the log, copied or not; nil if another program does not let go of it.
    func loggedPages() throws(StoreError) -> Int64? {
        let statement = try Statement(self, "pragma wal_checkpoint(passive)")
        // SQLite itself does not wait for this lock.
        for _ in 0..<Schema.patienceMilliseconds {
            defer { statement.reset() }
            if try statement.step(), statement.number(0) == 0 { return statement.number(1) }
            usleep(1000)
        }
        return nil
    }

    /// Leaves the log as it is when the connection closes.
    func keepLogAtClose() { carillon_keep_log_at_close(raw) }

    /// Gives a part of the free pages back to the system, but for the `kept`. True when more are worth it.
    func vacuumPart(keeping kept: Int64 = freePagesWorthVacuum) throws(StoreError) -> Bool {
        let free = try number("pragma freelist_count")
        guard free > kept, try free * 4 > number("pragma page_count") else { return false }
        try execute("pragma incremental_vacuum(\(Self.vacuumPages))")
        return free - Self.vacuumPages > kept
    }
}
