import Glibc

/// The claim on a database file: while it lives, no other process opens the same store.
///
/// SQLite's own locks do not say this: two gateways could take turns and hand out the same numbers. The lock is on a
/// file beside it, because closing any descriptor of the database itself would drop SQLite's locks
/// (https://www.sqlite.org/howtocorrupt.html 2.2).
struct StoreFile: ~Copyable {
    let path: String
    private let lock: Int32

    /// Makes the file if it is not there, readable by its owner only, and claims it.
    init(claiming path: String) throws(StoreError) {
        let lock = open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw StoreError(.cannotOpen, reason("cannot make its lock"), file: path) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            defer { Glibc.close(lock) }
            guard errno == EWOULDBLOCK else { throw StoreError(.cannotOpen, reason("cannot lock it"), file: path) }
            throw StoreError(.inUse, "another process uses it", file: path)
        }
        guard Self.make(path) else {
            defer { Glibc.close(lock) }
            throw StoreError(.cannotOpen, reason("cannot make it"), file: path)
        }
        self.path = path
        self.lock = lock
    }

    deinit { Glibc.close(lock) }

    /// SQLite gives the files beside it the mode of the database, so it has to be right from the start.
    static func make(_ path: String) -> Bool {
        let created = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard created >= 0 else { return errno == EEXIST }
        Glibc.close(created)
        return true
    }
}

private func reason(_ what: String) -> String {
    "\(what): \(strerror(errno).map { String(cString: $0) } ?? "error \(errno)")"
}
