import Glibc

/// The files of an open store, as they are found under their names: whether they are the ones that were opened, and
/// whole.
struct StoreFile {
    private var database: NamedFile
    private var log: NamedFile
    /// Which log it was when SQLite left it. Three system calls beside the sync of each commit; nothing else tells a
    /// log that was cut from one that another program has begun anew.
    private var generation: UInt64?

    init(_ path: String) {
        database = NamedFile(path: path)
        log = NamedFile(path: path + "-wal")
    }

    /// SQLite gives the files beside it the mode of the database, so it has to be right from the start.
    static func make(_ path: String) throws(StoreError) {
        let created = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard created < 0 else { return _ = Glibc.close(created) }
        guard errno == EEXIST else { throw .system("cannot make it", path) }
        var status = stat()
        // One that cannot be looked at is refused when it is opened.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
        let kind = status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "a device, pipe or socket"
        let remedy = "move it away, put the file in its place if there is one, and start again"
        throw StoreError(.cannotOpen, "it is \(kind), and must be a file", file: path, remedy: remedy)
    }

    /// Throws if the database or its write-ahead log is not the file that was opened. What is written then would be in
    /// a file without a name, and gone with the process; SQLite does not look.
    mutating func checkInPlace() throws(StoreError) {
        try database.look()
        try log.look()
    }

    /// What SQLite has made of the files is as it should be. Call it after whatever may make one shorter.
    mutating func accept() {
        database.accept()
        log.accept()
        generation = WriteAheadLog.generation(log.path)
    }

    /// The bytes of the database, if it is shorter than SQLite has left it; nil if not. As of the last look.
    var cutDatabase: Int64? { database.isCut ? database.size : nil }

    /// The same for the log. One that another program has emptied and begun anew is not shorter but another.
    var cutLog: Int64? {
        guard log.isCut else { return nil }
        return log.size == 0 || WriteAheadLog.generation(log.path) == generation ? log.size : nil
    }
}

/// Which file has a name, and how long it is.
private struct NamedFile {
    let path: String
    private var known: (device: dev_t, number: ino_t)?
    private(set) var size: Int64 = 0
    private var accepted: Int64 = 0

    init(path: String) { self.path = path }

    var isCut: Bool { size < accepted }

    /// Throws if it is not the file of the first look.
    mutating func look() throws(StoreError) {
        var status = stat()
        let isThere = stat(path, &status) == 0
        if let known {
            let isSame = known == (status.st_dev, status.st_ino)
            guard isThere else { throw StoreError(.gone, "it is not there any more", file: path) }
            guard isSame else { throw StoreError(.gone, "another file is in its place", file: path) }
        } else if isThere {
            // The log is made with the first transaction.
            known = (status.st_dev, status.st_ino)
        }
        size = Int64(status.st_size)
    }

    mutating func accept() { accepted = size }
}
