import Glibc

// Files that are too large to be held in memory.
extension Files {
    /// The most that a backup's file may hold, but for the store: settings, keys and certificates are far smaller.
    static let smallLimit = 8 << 20

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

    /// Exactly so many bytes; a file that ends before is refused.
    static func readExactly(_ descriptor: Int32, _ count: Int, name: String) throws(CommandError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let part = try readPart(descriptor, limit: count - bytes.count, name: name)
            guard !part.isEmpty else {
                throw .failed(code: "damaged", message: "\(name) is no backup of carillon, or it is cut off")
            }
            bytes += part
        }
        return bytes
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
