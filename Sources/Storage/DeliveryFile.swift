import Glibc
import PushCore

/// Where the delivery log lies and how it is opened. It is not the queue: one that is damaged stops nobody, but is put
/// aside and begun anew.
struct DeliveryFile: Sendable {
    /// nil keeps it in memory only.
    let path: String?
    let keep: Interval
    let rows: Int
    /// Told why a log was put aside, and where it lies now.
    let onPutAside: DeliveryLog.PutAside

    /// What errors name.
    var name: String { path ?? ":memory:" }

    /// Opens or makes the log; one that cannot be read is put aside.
    func open() throws(StoreError) -> DeliveryTable {
        do throws(StoreError) {
            return try table()
        } catch {
            guard Self.isBeyondUse(error) else { throw error }
            return try anew(because: error)
        }
    }

    /// Puts the log aside and begins another. Nobody may have it open.
    func anew(because error: StoreError) throws(StoreError) -> DeliveryTable {
        if let path { try putAside(path, error) }
        return try table()
    }

    /// Whether no later try would find a log that works.
    static func isBeyondUse(_ error: StoreError) -> Bool {
        switch error.kind {
        case .damaged, .foreign: true
        case .cannotOpen, .inUse, .gone, .full, .readOnly, .failed, .overloaded, .closed, .test: false
        }
    }

    private func table() throws(StoreError) -> DeliveryTable {
        if let path { try StoreFile.make(path) }
        return try DeliveryTable(Database(file: name), keep: keep, rowLimit: rows)
    }

    /// One such file is kept, the last: a disk that damages files must not be filled with them.
    private func putAside(_ path: String, _ error: StoreError) throws(StoreError) {
        let aside = path + ".damaged"
        // It is only an index into the log's own, and need not be there.
        unlink(path + "-shm")
        // Nor need this: whether it was kept or there never was one, the new log must not find it.
        if rename(path + "-wal", aside + "-wal") != 0 { unlink(path + "-wal") }
        guard rename(path, aside) == 0 else {
            throw StoreError(.cannotOpen, "\(error.what), and it cannot be put aside", file: path)
        }
        onPutAside(error, aside)
    }
}
