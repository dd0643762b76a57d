import Glibc
import PushCore
import Storage
import Testing

/// A folder of a test's own; it goes with everything in it.
struct TemporaryFolder: ~Copyable {
    let path: String

    init() throws {
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? P_tmpdir)/carillon-XXXXXX".utf8CString)
        path = try template.withUnsafeMutableBufferPointer { buffer in
            String(cString: try #require(buffer.baseAddress.flatMap { mkdtemp($0) }))
        }
    }

    deinit {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            unlink("\(path)/\(name)")
        }
        closedir(folder)
        rmdir(path)
    }

    var database: String { path + "/carillon.db" }
}

/// The kinds of store that pass the one suite.
enum Engine: String, CaseIterable, CustomTestStringConvertible {
    case memory
    case sqlite
    var testDescription: String { rawValue }

    /// Calls `body` with a store and a way to open it again, as after the end of the process.
    func withStore(_ body: (Reopening) throws -> Void) throws {
        let folder = try TemporaryFolder()
        switch self {
        case .memory: try body(Reopening(store: MemoryStore(), path: nil))
        case .sqlite: try body(Reopening(store: try SQLiteStore(path: folder.database), path: folder.database))
        }
    }
}

/// A store that can be closed and opened again; the one in memory only is read again.
final class Reopening {
    private(set) var store: any MessageStore
    private let path: String?

    init(store: any MessageStore, path: String?) {
        self.store = store
        self.path = path
    }

    func reopen() throws {
        guard let path else { return }
        store.close()
        store = try SQLiteStore(path: path)
    }

    /// What is there after a new start.
    func reloaded(at now: Moment = Sample.now) throws -> StoreSnapshot {
        try reopen()
        return try store.load(at: now)
    }
}

/// Fails the `n`-th call and passes all others on.
final class FaultyStore: MessageStore {
    private let store: any MessageStore
    private var callsLeft: Int
    static let error = StoreError(.test, "made to fail", file: "nowhere")

    init(_ store: sending any MessageStore, failingCall n: Int) {
        self.store = store
        callsLeft = n
    }

    private func count() throws(StoreError) {
        callsLeft -= 1
        if callsLeft == 0 { throw Self.error }
    }

    func load(at now: Moment) throws(StoreError) -> StoreSnapshot {
        try count()
        return try store.load(at: now)
    }

    func payloads(_ numbers: [UInt64]) throws(StoreError) -> [[UInt8]?] {
        try count()
        return try store.payloads(numbers)
    }

    func commit(_ changes: [StoreChange]) throws(StoreError) {
        try count()
        try store.commit(changes)
    }

    func maintain(at now: Moment) throws(StoreError) -> Bool {
        try count()
        return try store.maintain(at: now)
    }

    func close() { store.close() }
}
