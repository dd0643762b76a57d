import Glibc

/// What makes a SQLite file ours: its mark, its tables, and how a connection is set up.
struct Schema {
    /// Tells the file from those of other programs.
    let applicationID: Int64
    /// What made each version out of the one before. Add to the end; never change what was released.
    let migrations: [String]
    /// Whether a copy is kept of what an upgrade changes.
    let isPrecious: Bool
    /// Settings of each connection, beside the common ones.
    let connection: String

    var version: Int64 { Int64(migrations.count) }

    /// Before the first table; later they would change nothing.
    private static let shape = "pragma page_size = \(pageBytes); pragma auto_vacuum = incremental;"

    /// Bytes of a page of each file that we make.
    static let pageBytes: Int64 = 4096

    /// How long we wait for a lock that another program holds: for its checkpoint or its backup, not for a person.
    static let patienceMilliseconds = 2000

    /// Debian builds SQLite to overwrite what it deletes; that costs 10 % and protects nothing that the write-ahead log
    /// does not hold as well.
    private static let common = """
        pragma journal_mode = wal; pragma secure_delete = off; pragma mmap_size = 0;
        pragma busy_timeout = \(patienceMilliseconds);
        pragma temp_store = memory; pragma journal_size_limit = 67108864; pragma trusted_schema = off;
        """

    /// Everything that a connection is set to.
    var settings: String { Self.common + connection }

    /// Sets `database` up, and makes its tables or brings them to this version. True if it was empty. A file of a newer
    /// version or another program is refused and not touched.
    func prepare(_ database: Database) throws(StoreError) -> Bool {
        let tables = try database.number("select count(*) from sqlite_schema")
        let application = try database.number("pragma application_id")
        let isEmpty = tables == 0 && application == 0
        var version: Int64 = 0
        if !isEmpty { version = try check(database) }
        if isEmpty { try database.execute(Self.shape) }
        try database.execute(settings)
        guard version < self.version else { return false }
        if isPrecious, !isEmpty { try keepCopy(of: database) }
        try database.transaction { () throws(StoreError) in
            for migration in migrations[Int(version)...] { try database.execute(migration) }
            try database.execute("pragma application_id = \(applicationID)")
            try database.execute("pragma user_version = \(self.version)")
        }
        return isEmpty
    }

    /// The version of a file of ours that this program knows; any other is refused.
    @discardableResult
    func check(_ database: Database) throws(StoreError) -> Int64 {
        guard try database.number("pragma application_id") == applicationID else {
            throw StoreError(.foreign, "it is not the database that was expected here", file: database.file)
        }
        // They would change what our own statements do.
        guard try database.number("select count(*) from sqlite_schema where type in ('trigger', 'view')") == 0 else {
            throw StoreError(
                .foreign,
                "it has triggers or views, and carillon makes none",
                file: database.file,
                remedy: "drop them if you know who made them, or restore a backup"
            )
        }
        let version = try database.number("pragma user_version")
        guard (1...self.version).contains(version) else { throw newer(version, database.file) }
        return version
    }

    /// Where the copy lies that is made before a file is brought to a version.
    static func copyPath(of file: String, before version: Int64) -> String { "\(file).before-\(version)" }

    /// The way back, if the new version turns out to be a mistake. A crash meanwhile leaves it as it was, and the next
    /// start makes the copy anew.
    private func keepCopy(of database: Database) throws(StoreError) {
        let path = Self.copyPath(of: database.file, before: version)
        do throws(StoreError) {
            try copyDatabase(database, to: path) { _, _ in true }
        } catch {
            let what = "cannot keep a copy of it before bringing it to version \(version): \(error.what)"
            throw StoreError(error.kind, what, file: database.file)
        }
    }

    /// A newer program wrote the file. What is offered is the nearest way that exists.
    private func newer(_ version: Int64, _ file: String) -> StoreError {
        let what = "it has version \(version), this program knows \(self.version)"
        guard version > self.version else { return StoreError(.foreign, what, file: file) }
        let install = "install the version of carillon that wrote it"
        let copies = (self.version + 1...min(version, self.version + 100)).lazy
            .map { Self.copyPath(of: file, before: $0) }
        guard let copy = copies.first(where: { access($0, F_OK) == 0 }) else {
            let remedy = "\(install), or restore a backup that this version or an older one made (carillon restore)"
            return StoreError(.foreign, what, file: file, remedy: remedy)
        }
        let back = "rm -f \(file)-wal \(file)-shm && mv \(copy) \(file)"
        let remedy = "\(install), or go back to how it was before its upgrade, which loses what came since: \(back)"
        return StoreError(.foreign, what, file: file, remedy: remedy)
    }
}
