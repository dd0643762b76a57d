import CSQLite
import Glibc
import Reactor

/// Copies `source` as it is at this moment into a new file `path`, which becomes visible when it is whole and on the
/// disk. Others may go on writing to the source meanwhile.
///
/// After each piece `goesOn` is told how many bytes are done and how many there are; false ends it with an error.
func copyDatabase(
    _ source: Database,
    to path: String,
    goesOn: (_ done: Int, _ total: Int) -> Bool
) throws(StoreError) {
    // Not visible under its name before it is whole, and not left behind by a crash: the next copy begins it anew.
    let partial = path + partialSuffix
    removeDatabase(partial)
    do throws(StoreError) {
        try copyPages(of: source, to: partial, goesOn: goesOn)
        guard rename(partial, path) == 0 else { throw .system("cannot rename it", partial) }
    } catch {
        removeDatabase(partial)
        throw error
    }
    try syncFolder(of: path)
}

/// What can be told of a store without loading it.
package struct StoreFacts: Equatable, Sendable {
    /// Of the tables' form.
    package let version: Int
    /// Pushes that wait, those included that have expired meanwhile.
    package let pushes: Int
    /// Devices, those included that were removed.
    package let devices: Int
}

/// Copies the store at `path` while a gateway uses it, as it is at one moment, into a new file `target`, and looks
/// whether the copy is sound. As `copyDatabase`; for a thread that may take its time.
package func copyStore(
    _ path: String,
    to target: String,
    goesOn: (_ done: Int, _ total: Int) -> Bool
) throws(StoreError) -> StoreFacts {
    let source = try Database(file: path)
    let patience = Schema.patienceMilliseconds
    try source.execute("pragma query_only = on; pragma busy_timeout = \(patience); pragma mmap_size = 0")
    // One read transaction over all pieces: a copy that began a new one with each would begin anew with each commit
    // (decision 0022).
    try source.execute("begin")
    _ = try source.number("pragma schema_version")
    _ = try source.number("select count(*) from sqlite_schema")
    defer { sqlite3_exec(source.raw, "rollback", nil, nil, nil) }
    try copyDatabase(source, to: target, goesOn: goesOn)
    return try inspect(target, check: "quick_check")
}

/// Where the copy of a store lies from which a backup is made.
package func backupCopyPath(of store: String) -> String { store + ".backup" }

/// Takes away a copy that was made of a store, or what a crash left of one.
package func removeStoreCopy(_ path: String) {
    for part in [path, path + partialSuffix] { removeDatabase(part) }
}

private let partialSuffix = ".partial"

private func removeDatabase(_ path: String) {
    for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
}

/// Reads a store that no gateway uses from end to end and says what it holds. One that is damaged, another program's,
/// or of a newer version is refused.
package func inspectStore(_ path: String) throws(StoreError) -> StoreFacts {
    try inspect(path, check: "integrity_check")
}

private func inspect(_ path: String, check: String) throws(StoreError) -> StoreFacts {
    let database = try Database(file: path)
    try StoreSQL.schema.check(database)
    let found = try database.text("pragma \(check)(1)")
    guard found == "ok" else { throw StoreError(.damaged, "it is damaged: \(found)", file: path) }
    return StoreFacts(
        version: Int(try database.number("pragma user_version")),
        pushes: Int(try database.number("select count(*) from pushes")),
        devices: Int(try database.number("select count(*) from devices"))
    )
}

/// How a copy is cut into pieces.
private enum Piece {
    static let pageBytes = Int(Schema.pageBytes)
    /// Pages: a millisecond of work, and the most that is copied between two looks at `goesOn`.
    static let pages: Int32 = 256
    /// Bytes after which the copy is synced: what is left to the system until the end would hold up the commits of the
    /// store for as long as it takes to write all of it.
    static let synced = 16 << 20
}

private func copyPages(
    of source: Database,
    to path: String,
    goesOn: (_ done: Int, _ total: Int) -> Bool
) throws(StoreError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .system("cannot make it", path) }
    defer { close(descriptor) }
    let target = try Database(file: path)
    // Nobody reads it before it is whole, so neither a journal nor syncs of SQLite's own.
    try target.execute("pragma journal_mode = off; pragma synchronous = off")
    guard let copy = sqlite3_backup_init(target.raw, "main", source.raw, "main") else {
        throw target.lastError
    }
    var code = SQLITE_OK
    var (unsynced, done) = (0, 0)
    while code == SQLITE_OK {
        let start = Clock.monotonic()
        code = sqlite3_backup_step(copy, Piece.pages)
        let total = Int(sqlite3_backup_pagecount(copy)) * Piece.pageBytes
        let now = total - Int(sqlite3_backup_remaining(copy)) * Piece.pageBytes
        unsynced += now - done
        done = now
        if unsynced >= Piece.synced {
            fdatasync(descriptor)
            unsynced = 0
        }
        guard goesOn(done, total) else {
            sqlite3_backup_finish(copy)
            throw StoreError(.closed, "the copy was called off", file: path)
        }
        // Half of the time belongs to the others.
        if code == SQLITE_OK { usleep(UInt32(clamping: (Clock.monotonic() - start) / 1000)) }
    }
    sqlite3_backup_finish(copy)
    guard code == SQLITE_DONE else { throw target.lastError }
    guard fsync(descriptor) == 0 else { throw .system("cannot write it", path) }
}

private func syncFolder(of path: String) throws(StoreError) {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    do throws(SystemError) {
        try Machine.syncFolder(folder)
    } catch {
        throw .system("cannot sync it", folder, code: error.number)
    }
}
