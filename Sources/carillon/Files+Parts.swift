import Glibc

// Files that are too large to be held in memory.
extension Files {
    /// Lends an open file and its size.
    static func withFile<Value>(
        _ path: String,
        _ body: (Int32, Int) throws(CommandError) -> Value
    ) throws(CommandError) -> Value {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("read", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("read", path) }
        return try body(descriptor, Int(status.st_size))
    }

    /// The next bytes, at most `limit`; none at the end.
    static func readPart(_ descriptor: Int32, limit: Int, name: String) throws(CommandError) -> [UInt8] {
        var part = [UInt8](repeating: 0, count: limit)
        while true {
            let count = Glibc.read(descriptor, &part, limit)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure("read", name) }
            part.removeLast(limit - count)
            return part
        }
    }

    /// Does work that no other process may do meanwhile with the same folder.
    static func exclusively<Value>(
        _ folder: String,
        _ body: () throws(CommandError) -> Value
    ) throws(CommandError) -> Value {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", folder) }
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("lock", folder) }
        }
        return try body()
    }

    /// How many bytes a file has; nil if there is none.
    static func size(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Whether there is a regular file. Links are followed.
    static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}
