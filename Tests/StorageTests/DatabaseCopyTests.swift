import Glibc
import PushCore
import Testing

@testable import Storage

@Suite struct DatabaseCopyTests {
    @Test func `a copy holds what was committed when it began, whatever is committed meanwhile`() throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        let payload = [UInt8](repeating: 1, count: 4_000)
        try store.commit((1...2_000).map { .append(Sample.push($0, payload: payload)) })
        var (pieces, next) = (0, UInt64(2_000))
        let facts = try copyStore(folder.database, to: target.database) { _, _ in
            pieces += 1
            next += 1
            // What another thread would do between two pieces.
            return (try? store.commit([.append(Sample.push(next)), .discard(next - 2_000)])) != nil
        }
        #expect(pieces > 5)
        #expect(facts == StoreFacts(version: Int(StoreSQL.schema.version), pushes: 2_000, devices: 0))
        #expect(try SQLiteStore(path: target.database).load(at: Sample.now).numbers == Array(1...2_000))
        #expect(try store.load(at: Sample.now).pushes.count == 2_000)
    }

    @Test func `its progress rises to the whole`() throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit((1...5_000).map { .append(Sample.push($0, payload: [UInt8](repeating: 1, count: 1_000))) })
        var seen: [Int] = []
        var whole = 0
        _ = try copyStore(folder.database, to: target.database) { done, total in
            seen.append(done)
            whole = total
            return true
        }
        #expect(seen == seen.sorted() && seen.last == whole && whole > 5_000_000)
    }

    @Test func `a copy that is called off leaves nothing`() throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit((1...2_000).map { .append(Sample.push($0, payload: [UInt8](repeating: 1, count: 4_000))) })
        #expect(throws: StoreError.self) {
            try copyStore(folder.database, to: target.database) { _, _ in false }
        }
        for suffix in ["", ".partial", ".partial-wal"] { #expect(access(target.database + suffix, F_OK) != 0) }
    }

    @Test func `a copy is its owner's only and leaves no journal`() throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        try SQLiteStore(path: folder.database).commit([.append(Sample.push(1))])
        _ = try copyStore(folder.database, to: target.database) { _, _ in true }
        var status = stat()
        try #require(stat(target.database, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        for suffix in ["-wal", "-shm", ".partial"] { #expect(access(target.database + suffix, F_OK) != 0) }
    }

    @Test func `a place that cannot be written is named`() throws {
        let folder = try TemporaryFolder()
        try SQLiteStore(path: folder.database).commit([.append(Sample.push(1))])
        let error = #expect(throws: StoreError.self) {
            try copyStore(folder.database, to: "/nowhere/copy.db") { _, _ in true }
        }
        #expect(error?.description.contains("/nowhere/copy.db") == true)
    }

    @Test func `a damaged store is found before it is used`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit((1...2_000).map { .append(Sample.push($0)) })
        store.close()
        #expect(try inspectStore(folder.database).pushes == 2_000)
        let file = try #require(fopen(folder.database, "r+"))
        fseek(file, 4_096 * 8, SEEK_SET)
        let noise = [UInt8](repeating: 0xa5, count: 9_000)
        fwrite(noise, 1, noise.count, file)
        fclose(file)
        let error = #expect(throws: StoreError.self) { try inspectStore(folder.database) }
        #expect(error?.kind == .damaged)
    }
}
