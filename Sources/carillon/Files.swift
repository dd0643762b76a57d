import Glibc
import PushCore
import Reactor
import TLS

/// Files and folders, as the commands need them: whole, small, and with the error in words.
enum Files {
    /// The most any file may hold that a command reads: settings, keys and payloads are far smaller.
    private static let readLimit = 8 << 20

    static func exists(_ path: String) -> Bool { Glibc.access(path, F_OK) == 0 }

    /// A pipe is read only where a person may mean one: it keeps who opens it waiting, and must not keep a gateway.
    static func read(
        _ path: String,
        limit: Int = readLimit,
        mayBePipe: Bool = false
    ) throws(CommandError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (mayBePipe ? 0 : O_NONBLOCK))
        guard descriptor >= 0 else { throw failure("read", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("read", path) }
        guard mayBePipe || status.st_mode & S_IFMT != S_IFIFO else {
            throw .failed(code: "file", message: "\(path) is a pipe, and must be a file")
        }
        return try readToEnd(descriptor, name: path, limit: limit)
    }

    /// What comes on standard input, to its end.
    static func readStandardInput() throws(CommandError) -> [UInt8] {
        try readToEnd(STDIN_FILENO, name: "standard input", limit: readLimit)
    }

    static func readText(_ path: String) throws(CommandError) -> String {
        let bytes = try read(path)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .failed(code: "file", message: "\(path) is not UTF-8 text")
        }
        return text
    }

    /// Writes a new file with exactly `mode`, synced; refuses to replace one.
    static func create(_ path: String, _ bytes: [UInt8], mode: mode_t) throws(CommandError) {
        try create(path, mode: mode) { descriptor throws(CommandError) in
            try write(bytes, to: descriptor, name: path)
        }
    }

    /// The same with what `body` writes.
    static func create(
        _ path: String,
        mode: mode_t,
        _ body: (Int32) throws(CommandError) -> Void
    ) throws(CommandError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure("create", path) }
        defer { close(descriptor) }
        try body(descriptor)
        // The umask may have taken bits away, and a power cut must not leave an empty key.
        guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0 else { throw failure("write", path) }
    }

    /// Writes all of `bytes`.
    static func write(_ bytes: [UInt8], to descriptor: Int32, name: String) throws(CommandError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failure("write", name) }
            rest = rest.dropFirst(count)
        }
    }

    /// Writes a file in place of the one that may be there: whoever reads it sees the old or the new one, whole, also
    /// after a power cut. It belongs to whom the old one, or its folder, belongs to.
    static func replace(_ path: String, _ bytes: [UInt8], mode: mode_t) throws(CommandError) {
        try replace(path, mode: mode) { descriptor throws(CommandError) in
            try write(bytes, to: descriptor, name: path)
        }
    }

    /// The same with what `body` writes. Unless it `mayReplace` one, a file that has come meanwhile stays, and this
    /// throws.
    static func replace(
        _ path: String,
        mode: mode_t,
        mayReplace: Bool = true,
        _ body: (Int32) throws(CommandError) -> Void
    ) throws(CommandError) {
        // A link stays one: what it leads to is replaced.
        let path = absolute(path)
        // A name of its own: two runs at once must not take each other's file away, nor one that the operator has.
        let new = "\(path).\(hexadecimal(SecureRandom.bytes(8)))"
        do throws(CommandError) {
            try create(new, mode: mode, body)
            try giveToOwner(of: exists(path) ? path : split(path).directory, new)
            try rename(new, to: path, mayReplace: mayReplace)
        } catch {
            unlink(new)
            throw error
        }
        try syncFolder(of: path)
    }

    private static func rename(_ file: String, to path: String, mayReplace: Bool) throws(CommandError) {
        if !mayReplace {
            guard link(file, path) != 0 else { return _ = unlink(file) }
            // Where there are no links, to look first has to do.
            guard errno != EEXIST && !exists(path) else {
                throw .failed(code: "exists", message: "\(path) has come meanwhile, and stays as it is")
            }
        }
        guard Glibc.rename(file, path) == 0 else { throw failure("replace", path) }
    }

    /// Removes a file, if it is there.
    static func remove(_ path: String) throws(CommandError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure("remove", path) }
    }

    /// Makes the name of a file as durable as its content.
    static func syncFolder(of path: String) throws(CommandError) {
        let folder = split(path).directory
        do throws(SystemError) {
            try Machine.syncFolder(folder)
        } catch {
            throw .failed(code: "file", message: "cannot sync \(folder): \(error)")
        }
    }

    /// Root works for the user that runs the gateway, who could not read root's files.
    private static func giveToOwner(of model: String, _ path: String) throws(CommandError) {
        var status = stat()
        guard geteuid() == 0, stat(model, &status) == 0, status.st_uid != 0 else { return }
        guard chown(path, status.st_uid, status.st_gid) == 0 else { throw failure("give away", path) }
    }

    static func createDirectory(_ path: String) throws(CommandError) {
        guard mkdir(path, 0o700) == 0 else { throw failure("create", path) }
    }

    /// The names in a folder, sorted; none if it cannot be read.
    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Who may use a file; nil if there is none. Links are followed.
    static func access(of path: String) -> FileAccess? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return FileAccess(
            mode: status.st_mode & 0o7777,
            owner: status.st_uid,
            isDirectory: status.st_mode & S_IFMT == S_IFDIR
        )
    }

    /// How a file looks from outside; nil if there is none. Links are followed.
    static func mark(of path: String) -> FileMark? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return FileMark(
            file: [UInt64(status.st_dev), UInt64(status.st_ino), UInt64(clamping: status.st_size)],
            times: [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
        )
    }

    /// Whether a path leads nowhere out of the folder that it is relative to.
    static func staysInside(_ path: String) -> Bool {
        !path.hasPrefix("/") && !path.split(separator: "/").contains("..")
    }

    /// The path from the root, with links followed where it exists.
    static func absolute(_ path: String) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        let (folder, name) = split(path)
        // Nothing has this name yet: its folder may exist.
        return folder == path || name.isEmpty ? path : join(absolute(folder), name)
    }

    /// `path` as seen from `directory`.
    static func join(_ directory: String, _ path: String) -> String {
        if path.hasPrefix("/") || directory.isEmpty { return path }
        return directory.hasSuffix("/") ? directory + path : "\(directory)/\(path)"
    }

    /// The folder a path lies in, and its last part.
    static func split(_ path: String) -> (directory: String, name: String) {
        var path = path[...]
        while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return (".", String(path)) }
        let directory = slash == path.startIndex ? "/" : String(path[..<slash])
        return (directory, String(path[path.index(after: slash)...]))
    }

    /// The error of the last system call on `path`, in words.
    static func failure(_ verb: String, _ path: String) -> CommandError {
        .failed(code: "file", message: "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }

    private static func readToEnd(_ descriptor: Int32, name: String, limit: Int) throws(CommandError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        // It may have held a key.
        defer { cleanse(&chunk) }
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure("read", name) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw .failed(code: "file", message: "\(name) is longer than \(limit) bytes")
            }
        }
    }
}

/// What differs once a file was written, replaced, or given other permissions: which file it is, its size, its times.
struct FileMark: Equatable {
    let file: [UInt64]
    let times: [Int]
}

/// Who may use a file.
struct FileAccess: Equatable {
    /// The permission bits.
    let mode: mode_t
    let owner: uid_t
    let isDirectory: Bool

    /// What to type when group or others can reach it; nil if they cannot.
    func repair(_ path: String) -> String? {
        mode & 0o077 == 0 ? nil : "chmod \(isDirectory ? "700" : "600") \(path)"
    }
}
