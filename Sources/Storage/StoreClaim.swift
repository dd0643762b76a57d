import Glibc
import Reactor

/// The claim on a database file: while it lives, no other process opens the same store.
///
/// SQLite's own locks do not say this: two gateways could take turns and hand out the same numbers. One lock is on a
/// file beside the database. Somebody may delete that, so another is on the database itself, where SQLite has none.
/// Closing a descriptor of the database drops SQLite's locks (https://www.sqlite.org/howtocorrupt.html 2.2): the
/// `Database` that holds the claim closes before it.
final class StoreClaim {
    private let lock: FileDescriptor
    private let database: FileDescriptor

    /// Makes the file if it is not there, readable by its owner only, and claims it. One that was there once, as the
    /// lock says, is not made anew: what it held would be missed by nobody but those who wait for it.
    init(_ path: String) throws(StoreError) {
        lock = try openFile(path + "-lock", O_CREAT | O_NOFOLLOW, "cannot make its lock", path)
        // First, for it can be tried without harm in a process that has the database open.
        guard flock(lock.number, LOCK_EX | LOCK_NB) == 0 else { throw refused(path) }
        guard access(path, F_OK) == 0 || !isMarked(lock) else { throw missing(path) }
        try StoreFile.make(path)
        database = try openFile(path, 0, "cannot open it", path)
        var place = Glibc.flock()
        place.l_type = Int16(F_WRLCK)
        place.l_whence = Int16(SEEK_SET)
        // Behind everything that a file can hold.
        place.l_start = .max - 1
        place.l_len = 1
        guard fcntl(database.number, setOpenFileLock, &place) == 0 else { throw refused(path) }
    }

    /// Notes in the lock that there is a store, once it has its tables.
    func mark(_ path: String) throws(StoreError) {
        guard !isMarked(lock) else { return }
        guard write(lock.number, "1", 1) == 1 else { throw .system("cannot write its lock", path) }
    }
}

/// F_OFD_SETLK, which the Glibc module leaves out: a lock that belongs to a descriptor and not to the process.
private let setOpenFileLock: Int32 = 37

private func openFile(
    _ path: String,
    _ flags: Int32,
    _ what: String,
    _ store: String
) throws(StoreError) -> FileDescriptor {
    let descriptor = open(path, O_RDWR | O_CLOEXEC | flags, 0o600)
    guard descriptor >= 0 else { throw .system(what, store) }
    return FileDescriptor(owning: descriptor)
}

/// Why the system has just not given a lock.
private func refused(_ path: String) -> StoreError {
    guard errno == EWOULDBLOCK || errno == EACCES else { return .system("cannot lock it", path) }
    return StoreError(.inUse, "another process uses it", file: path)
}

private func isMarked(_ lock: borrowing FileDescriptor) -> Bool { lseek(lock.number, 0, SEEK_END) > 0 }

private func missing(_ path: String) -> StoreError {
    let remedy = "put it back, or restore a backup; to begin with an empty store, remove \(path)-lock"
    return StoreError(.cannotOpen, "it is not there any more", file: path, remedy: remedy)
}
