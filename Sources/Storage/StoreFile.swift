import Glibc

/// The claim on a database file: while it lives, no other process opens the same store.
///
/// SQLite's own locks do not say this: two gateways could take turns and hand out the same numbers. The lock is on a
/// file beside it, because closing any descriptor of the database itself would drop SQLite's locks
/// (https://www.sqlite.org/howtocorrupt.html 2.2).
struct StoreFile: ~Copyable {
    let path: String
    private let lock: Int32
    private var database: FileIdentity?
    private var log: FileIdentity?

    /// Makes the file if it is not there, readable by its owner only, and claims it.
    init(claiming path: String) throws(StoreError) {
        let lock = open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw systemError("cannot make its lock", path) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            defer { Glibc.close(lock) }
            guard errno == EWOULDBLOCK else { throw systemError("cannot lock it", path) }
            throw StoreError(.inUse, "another process uses it", file: path)
        }
        do throws(StoreError) {
            try Self.make(path)
        } catch {
            Glibc.close(lock)
            throw error
        }
        self.path = path
        self.lock = lock
    }

    deinit { Glibc.close(lock) }

    /// SQLite gives the files beside it the mode of the database, so it has to be right from the start.
    static func make(_ path: String) throws(StoreError) {
        let created = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard created >= 0 else {
            guard errno == EEXIST else { throw systemError("cannot make it", path) }
            return
        }
        Glibc.close(created)
    }

    /// Throws if the database or its write-ahead log is not the file that was opened. What is written then would be in
    /// a file without a name, and gone with the process; SQLite does not look.
    mutating func checkInPlace() throws(StoreError) {
        try Self.check(path, against: &database)
        try Self.check(path + "-wal", against: &log)
    }

    private static func check(_ path: String, against known: inout FileIdentity?) throws(StoreError) {
        let found = FileIdentity(path)
        // The log is made with the first transaction.
        guard let expected = known else { return known = found }
        guard found != expected else { return }
        throw StoreError(.gone, found == nil ? "it is not there any more" : "another file is in its place", file: path)
    }
}

/// Which file has a name.
private struct FileIdentity: Equatable {
    let device: dev_t
    let number: ino_t

    /// nil if there is none, or none that can be seen.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = status.st_dev
        number = status.st_ino
    }
}

/// What the system just said about `path`.
private func systemError(_ what: String, _ path: String) -> StoreError {
    let code = errno
    let reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
    let kind: StoreError.Kind =
        switch code {
        case EROFS: .readOnly
        case ENOSPC, EDQUOT: .full
        case EIO: .failed
        default: .cannotOpen
        }
    return StoreError(kind, "\(what): \(reason)", file: path)
}
