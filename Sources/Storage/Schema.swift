/// What makes a SQLite file ours: its mark, its tables, and how a connection is set up.
struct Schema {
    /// Tells the file from those of other programs.
    let applicationID: Int64
    /// What made each version out of the one before. Add to the end; never change what was released.
    let migrations: [String]
    /// Settings of each connection, beside the common ones.
    let connection: String

    var version: Int64 { Int64(migrations.count) }

    /// Before the first table; later they would change nothing.
    private static let shape = "pragma page_size = 4096; pragma auto_vacuum = incremental;"

    /// Debian builds SQLite to overwrite what it deletes; that costs 10 % and protects nothing that the write-ahead log
    /// does not hold as well.
    private static let common = """
        pragma journal_mode = wal; pragma secure_delete = off; pragma busy_timeout = 2000; pragma mmap_size = 0;
        pragma temp_store = memory; pragma journal_size_limit = 67108864; pragma trusted_schema = off;
        """

    /// Everything that a connection is set to.
    var settings: String { Self.common + connection }

    /// Sets `database` up, and makes its tables or brings them to this version. True if it was empty. A file of a newer
    /// version or another program is refused and not touched.
    func prepare(_ database: Database) throws(StoreError) -> Bool {
        let application = try database.number("pragma application_id")
        let version = try database.number("pragma user_version")
        let tables = try database.number("select count(*) from sqlite_schema")
        let isEmpty = application == 0 && tables == 0
        guard isEmpty || application == applicationID else {
            throw StoreError(.foreign, "it is not the database that was expected here", file: database.file)
        }
        guard (0...self.version).contains(version) else {
            let what = "it has version \(version), this program knows \(self.version)"
            throw StoreError(.foreign, what, file: database.file)
        }
        if isEmpty { try database.execute(Self.shape) }
        try database.execute(settings)
        guard version < self.version else { return false }
        try database.transaction { () throws(StoreError) in
            for migration in migrations[Int(version)...] { try database.execute(migration) }
            try database.execute("pragma application_id = \(applicationID)")
            try database.execute("pragma user_version = \(self.version)")
        }
        return isEmpty
    }
}
