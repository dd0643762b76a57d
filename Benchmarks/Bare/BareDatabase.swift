import BenchmarkSupport
import CSQLite

/// A SQLite file, opened and set as the gateway opens its store.
final class BareDatabase {
    private let raw: OpaquePointer

    init(file: String, settings: String) throws(OptionError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(file, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw OptionError("\(file) cannot be opened: SQLite says \(code)")
        }
        raw = opened
        try execute(settings)
    }

    deinit { sqlite3_close_v2(raw) }

    func execute(_ sql: String) throws(OptionError) {
        guard sqlite3_exec(raw, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
    }

    func prepare(_ sql: String) throws(OptionError) -> BareStatement {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(raw, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw failure }
        return BareStatement(owning: prepared, of: self)
    }

    var failure: OptionError {
        OptionError("SQLite says: \(sqlite3_errmsg(raw).map { String(cString: $0) } ?? "out of memory")")
    }
}

/// One prepared statement. What was bound stays bound.
final class BareStatement {
    let raw: OpaquePointer
    private let database: BareDatabase

    fileprivate init(owning raw: OpaquePointer, of database: BareDatabase) {
        self.raw = raw
        self.database = database
    }

    deinit { sqlite3_finalize(raw) }

    /// Runs a statement that returns no rows.
    func run() throws(OptionError) {
        guard sqlite3_step(raw) == SQLITE_DONE, sqlite3_reset(raw) == SQLITE_OK else { throw database.failure }
    }

    /// Runs to the next row; false at the end.
    func step() throws(OptionError) -> Bool {
        let code = sqlite3_step(raw)
        guard code == SQLITE_ROW || code == SQLITE_DONE else { throw database.failure }
        return code == SQLITE_ROW
    }
}
