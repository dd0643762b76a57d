import CSQLite
import Glibc

/// One connection to a SQLite file. It belongs to one thread at a time and closes when its last statement goes.
final class Database {
    let file: String
    let raw: OpaquePointer
    /// Given up once the connection is closed.
    private let claim: StoreClaim?

    /// Opens `file`, which is made if it is not there. `:memory:` is a database without a file.
    init(file: String, claim: StoreClaim? = nil) throws(StoreError) {
        self.claim = claim
        var opened: OpaquePointer?
        // No mutex: its owner already is one thread (https://www.sqlite.org/threadsafe.html).
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
        let code = sqlite3_open_v2(file, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            defer { sqlite3_close_v2(opened) }
            throw StoreError(ResultCode(rawValue: code).kind, message(opened, code), file: file)
        }
        sqlite3_extended_result_codes(opened, 1)
        self.file = file
        raw = opened
    }

    deinit { sqlite3_close_v2(raw) }

    /// Runs statements that return nothing of interest.
    func execute(_ sql: String) throws(StoreError) {
        try check(attempt { sqlite3_exec(raw, sql, nil, nil, nil) })
    }

    /// The first column of the first row; 0 when there is none.
    func number(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try Statement(self, sql)
        defer { statement.reset() }
        return try statement.step() ? statement.number(0) : 0
    }

    /// The first column of the first row as text; empty when there is none.
    func text(_ sql: String) throws(StoreError) -> String {
        let statement = try Statement(self, sql)
        defer { statement.reset() }
        return try statement.step() ? statement.text(0) : ""
    }

    /// Runs `body` in a transaction; what it throws undoes all of it.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try execute("begin immediate")
        do {
            try body()
            try execute("commit")
        } catch {
            // Some errors have rolled it back already; a second time is an error of its own.
            if sqlite3_get_autocommit(raw) == 0 { sqlite3_exec(raw, "rollback", nil, nil, nil) }
            throw error
        }
    }

    /// How many rows the last statement changed.
    var changes: Int { Int(sqlite3_changes64(raw)) }

    /// The key of the last row that was added, also by a transaction that was undone; set it to 0 before looking.
    var lastInserted: Int64 {
        get { sqlite3_last_insert_rowid(raw) }
        set { sqlite3_set_last_insert_rowid(raw, newValue) }
    }

    /// Turns a result that is not success into an error.
    func check(_ code: Int32) throws(StoreError) {
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// Why the last call failed that returned nothing or was of a copy.
    var lastError: StoreError { error(sqlite3_extended_errcode(raw)) }

    fileprivate func error(_ code: Int32) -> StoreError {
        StoreError(ResultCode(rawValue: code).kind, message(raw, code), file: file)
    }
}

/// One prepared statement. Bind from 1, step, read columns from 0, reset.
final class Statement {
    private let database: Database
    private let raw: OpaquePointer

    init(_ database: Database, _ sql: String) throws(StoreError) {
        var prepared: OpaquePointer?
        let code = attempt {
            sqlite3_prepare_v3(database.raw, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        }
        try database.check(code)
        guard let prepared else { preconditionFailure("no statement in \(sql)") }
        self.database = database
        raw = prepared
    }

    deinit { sqlite3_finalize(raw) }

    /// Runs to the next row; false at the end.
    func step() throws(StoreError) -> Bool {
        let code = attempt { sqlite3_step(raw) }
        guard code == SQLITE_ROW || code == SQLITE_DONE else { throw database.error(code) }
        return code == SQLITE_ROW
    }

    /// Ready for the next use. What was bound stays bound.
    func reset() { sqlite3_reset(raw) }

    /// Runs a statement that returns no rows.
    func run() throws(StoreError) {
        defer { reset() }
        _ = try step()
    }

    func bind(_ index: Int32, _ number: Int64) throws(StoreError) {
        try database.check(sqlite3_bind_int64(raw, index, number))
    }

    func bind(_ index: Int32, _ number: UInt64) throws(StoreError) {
        try bind(index, Int64(bitPattern: number))
    }

    /// nil is stored as NULL.
    func bind(_ index: Int32, _ number: Int64?) throws(StoreError) {
        if let number { try bind(index, number) } else { try database.check(sqlite3_bind_null(raw, index)) }
    }

    func bind(_ index: Int32, _ text: String) throws(StoreError) {
        var text = text
        try database.check(text.withUTF8 { bindText(index, $0) })
    }

    /// Binds bytes as text.
    func bind(_ index: Int32, text bytes: Span<UInt8>) throws(StoreError) {
        try database.check(bytes.withUnsafeBufferPointer { bindText(index, $0) })
    }

    private func bindText(_ index: Int32, _ bytes: UnsafeBufferPointer<UInt8>) -> Int32 {
        // Nothing has no address, and without one it would be NULL.
        guard !bytes.isEmpty else { return carillon_bind_text(raw, index, "", 0) }
        return bytes.withMemoryRebound(to: CChar.self) {
            carillon_bind_text(raw, index, $0.baseAddress, Int32($0.count))
        }
    }

    func bind(_ index: Int32, _ bytes: [UInt8]) throws(StoreError) { try bind(index, bytes.span) }

    func bind(_ index: Int32, _ bytes: Span<UInt8>) throws(StoreError) {
        // As with text.
        guard !bytes.isEmpty else { return try database.check(sqlite3_bind_zeroblob(raw, index, 0)) }
        try database.check(bytes.withUnsafeBytes { carillon_bind_copy(raw, index, $0.baseAddress, Int32($0.count)) })
    }

    /// nil is stored as NULL.
    func bindOptional(_ index: Int32, _ text: String?) throws(StoreError) {
        if let text { try bind(index, text) } else { try bind(index, Int64?.none) }
    }

    /// nil is stored as NULL.
    func bindOptional(_ index: Int32, _ bytes: [UInt8]?) throws(StoreError) {
        if let bytes { try bind(index, bytes) } else { try bind(index, Int64?.none) }
    }

    /// Binds bytes without a copy, for as long as `body` takes: for payloads.
    func bind(
        _ index: Int32,
        borrowing bytes: ArraySlice<UInt8>,
        _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        guard !bytes.isEmpty else {
            try bind(index, [UInt8]())
            return try body()
        }
        try bytes.withUnsafeBufferPointer { (buffer) throws(StoreError) in
            try database.check(sqlite3_bind_blob(raw, index, buffer.baseAddress, Int32(buffer.count), nil))
            defer { sqlite3_bind_null(raw, index) }
            try body()
        }
    }

    func number(_ column: Int32) -> Int64 { sqlite3_column_int64(raw, column) }
    func unsigned(_ column: Int32) -> UInt64 { UInt64(bitPattern: number(column)) }
    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(raw, column) == SQLITE_NULL }

    /// Lends the bytes of a column.
    func withBytes<Result>(_ column: Int32, _ body: (Span<UInt8>) -> Result) -> Result {
        let start = sqlite3_column_blob(raw, column)
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(raw, column)))
        return bytes.withMemoryRebound(to: UInt8.self) { body($0.span) }
    }

    func bytes(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(raw, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(raw, column))))
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}

/// Calls SQLite, and tells by what the system said what SQLite leaves open. What could not be read it calls damaged,
/// too, but the one may pass and the other does not; and not each call that a full disk refuses is said to be one.
private func attempt(_ call: () -> Int32) -> Int32 {
    errno = 0
    let code = call()
    return switch (code & 0xff, errno) {
    case (SQLITE_CORRUPT, EIO), (SQLITE_CORRUPT, ENXIO): SQLITE_IOERR
    case (SQLITE_IOERR, ENOSPC), (SQLITE_IOERR, EDQUOT): SQLITE_FULL
    case (SQLITE_IOERR, EROFS): SQLITE_READONLY
    default: code
    }
}

/// SQLite's words for what went wrong.
private func message(_ connection: OpaquePointer?, _ code: Int32) -> String {
    guard let text = sqlite3_errmsg(connection) else { return "out of memory" }
    let name = sqlite3_errstr(code).map { String(cString: $0) } ?? "error"
    let detail = String(cString: text)
    return detail == name ? "\(name) (\(code))" : "\(detail) (\(name), \(code))"
}
