import Glibc
import PushCore
import Testing

@testable import Storage

@Suite struct SQLiteStoreTests {
    @Test func `what is committed is there without a close`() throws {
        let folder = try TemporaryFolder()
        let copy = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        for number in UInt64(1)...300 { try store.commit([.append(Sample.push(number)), .discard(number - 1)]) }
        for suffix in ["", "-wal"] { try copyFile(folder.database + suffix, to: copy.database + suffix) }
        let snapshot = try SQLiteStore(path: copy.database).load(at: Sample.now)
        #expect(snapshot.numbers == [300] && snapshot.lastPushNumber > 300)
    }

    @Test func `only its owner may read its files`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit([.append(Sample.push(1))])
        for suffix in ["", "-wal", "-shm", "-lock"] { #expect(try mode(folder.database + suffix) == 0o600) }
    }

    @Test func `two processes do not share a store`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.database) }
        #expect(error?.kind == .inUse)
        store.close()
        #expect(throws: Never.self) { try SQLiteStore(path: folder.database) }
    }

    @Test func `a folder that is not there is named`() throws {
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: "/nowhere/carillon.db") }
        #expect(error?.kind == .cannotOpen)
        #expect(error?.description.contains("/nowhere/carillon.db: cannot make its lock: No such file") == true)
    }

    @Test func `a file of a newer version is refused and stays as it is`() throws {
        let folder = try TemporaryFolder()
        try SQLiteStore(path: folder.database).close()
        try Database(file: folder.database).execute("pragma user_version = 99")
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.database) }
        #expect(error?.kind == .foreign)
        #expect(error?.what == "it has version 99, this program knows \(StoreSQL.schema.version)")
        #expect(try Database(file: folder.database).number("pragma user_version") == 99)
    }

    @Test func `a database of another program is refused`() throws {
        let folder = try TemporaryFolder()
        try Database(file: folder.database).execute("create table theirs(a)")
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.database) }
        #expect(error?.kind == .foreign)
    }

    @Test(arguments: [0, 4_096 * 3])
    func `a damaged file says which and what to do`(_ offset: Int) throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit((1...2_000).map { .append(Sample.push($0)) })
        store.close()
        try overwrite(folder.database, from: offset, count: 100_000)
        let error = #expect(throws: StoreError.self) {
            _ = try SQLiteStore(path: folder.database).load(at: Sample.now)
        }
        #expect(error?.kind == .damaged)
        #expect(error?.description.contains("sqlite3 \(folder.database) .dump") == true)
    }

    @Test(arguments: [
        "update pushes set priority = 3", "update pushes set type = 99", "update pushes set apns_id = x'00'",
        "update pushes set unique_id = x''", "update registrations set token = x''",
        "update registrations set state = 9", "update devices set key_type = 'x'",
        "update devices set base_token = x''",
        "update keys set environment = 'x'", "update reserved set numbers = -1",
        "update pushes set number = -1", "update pushes set number = 9223372036854775807",
        "update pushes set registration = 0", "update pushes set expires = accepted",
        "update pushes set payload = zeroblob(70000)", "update pushes set collapse_id = zeroblob(65)",
        "update registrations set number = 9223372036854775807", "update registrations set topic = ''",
        "update registrations set topic = hex(zeroblob(40000))",
    ])
    func `a row that makes no sense is not left out silently`(_ damage: String) throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit([
            .append(Sample.push(1)), .save(Sample.registration(1)), .saveDevice(Sample.device(1)),
            .saveKey(Sample.key("ABC123DEFG")),
        ])
        try store.database().execute(damage)
        let error = #expect(throws: StoreError.self) { try store.load(at: Sample.now) }
        #expect(error?.kind == .damaged && error?.what.contains("makes no sense") == true)
    }

    @Test func `a number above those that were reserved is not given again`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit([.append(Sample.push(1))])
        try store.database().execute("update reserved set numbers = 0; update pushes set number = 7")
        let last = try store.load(at: Sample.now).lastPushNumber
        try store.commit([.append(Sample.push(last + 1))])
        #expect(try store.load(at: Sample.now).numbers == [7, 8])
    }

    @Test func `wherever the disk fills up, a transaction is whole or not there`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        let database = try store.database()
        let pages = try database.number("pragma page_count")
        var failures = 0
        for extra in Int64(0)... {
            _ = try database.number("pragma max_page_count = \(pages + extra)")
            do throws(StoreError) {
                try store.commit((1...500).map { .append(Sample.push($0)) })
                break
            } catch {
                #expect(error.kind == .full)
                failures += 1
                #expect(try database.number("select count(*) from pushes") == 0)
            }
        }
        #expect(failures > 10)
        #expect(try store.load(at: Sample.now).numbers == Array(1...500))
    }

    @Test func `a store that cannot be written says so and goes on later`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.database().execute("pragma query_only = on")
        #expect(kind { () throws(StoreError) in try store.commit([.append(Sample.push(1))]) } == .readOnly)
        #expect(kind { () throws(StoreError) in try store.commit([]) } == .readOnly, "a probe writes")
        try store.database().execute("pragma query_only = off")
        try store.commit([.append(Sample.push(1))])
        #expect(try store.load(at: Sample.now).numbers == [1])
    }

    @Test func `a store that another connection has locked says so and goes on later`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.database().execute("pragma busy_timeout = 0")
        let other = try Database(file: folder.database)
        try other.execute("begin immediate")
        #expect(kind { () throws(StoreError) in try store.commit([.append(Sample.push(1))]) } == .inUse)
        try other.execute("rollback")
        try store.commit([.append(Sample.push(1))])
        #expect(try store.load(at: Sample.now).numbers == [1])
    }

    @Test(arguments: ["", "-wal"])
    func `what is written after the file has gone is refused until it is back`(_ suffix: String) throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit([.append(Sample.push(1))])
        try store.check()
        let (path, elsewhere) = (folder.database + suffix, folder.path + "/elsewhere")
        #expect(rename(path, elsewhere) == 0)
        #expect(kind { () throws(StoreError) in try store.check() } == .gone)
        #expect(kind { () throws(StoreError) in try store.commit([.append(Sample.push(2))]) } == .gone)
        try copyFile(elsewhere, to: path)
        #expect(kind { () throws(StoreError) in try store.commit([]) } == .gone, "a copy is not the file")
        #expect(rename(elsewhere, path) == 0)
        try store.commit([.append(Sample.push(3))])
        store.close()
        #expect(try SQLiteStore(path: folder.database).load(at: Sample.now).numbers.contains(3))
    }

    @Test(arguments: ["", "-wal"], [0, 5000])
    func `what was cut off is not written to`(_ suffix: String, _ left: Int) throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        _ = try store.load(at: Sample.now)
        try store.commit([.append(Sample.push(1))])
        try store.commit([.append(Sample.push(2))])
        try store.check()
        #expect(truncate(folder.database + suffix, left) == 0)
        for _ in 1...2 {
            #expect(kind { () throws(StoreError) in try store.check() } == .damaged)
            #expect(kind { () throws(StoreError) in try store.commit([.append(Sample.push(3))]) } == .damaged)
            #expect(try !store.maintain(at: Sample.now), "it has nothing more to do")
        }
        store.close()
        let size = try contents(folder.database + suffix).count
        #expect(size == left, "what is left stays as it is")
    }

    @Test func `what SQLite itself makes shorter is no damage`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        let payload = [UInt8](repeating: 1, count: 4_000)
        for round in UInt64(0)..<3 {
            let numbers = round * 1_000 + 1...round * 1_000 + 900
            try store.commit(numbers.map { .append(Sample.push($0, payload: payload)) })
            try store.commit(numbers.map { .discard($0) })
            while try store.database().vacuumPart(keeping: 10) {}
            _ = try store.load(at: Sample.now)
            try Database(file: folder.database).execute("vacuum; pragma wal_checkpoint(truncate)")
            try store.check()
            _ = try store.maintain(at: Sample.now)
        }
        try store.commit([.append(Sample.push(5_000))])
        store.close()
        #expect(try SQLiteStore(path: folder.database).load(at: Sample.now).numbers == [5_000])
    }

    @Test func `a start empties the log into the file`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit([.append(Sample.push(1))])
        #expect(try !contents(folder.database + "-wal").isEmpty)
        _ = try store.load(at: Sample.now)
        #expect(try contents(folder.database + "-wal").isEmpty)
    }

    @Test func `a change that fails undoes those before it`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        try store.commit([.append(Sample.push(5))])
        let changes: [StoreChange] = [.append(Sample.push(6)), .save(Sample.registration(1)), .append(Sample.push(5))]
        #expect(kind { () throws(StoreError) in try store.commit(changes) } == .failed)
        let snapshot = try store.load(at: Sample.now)
        #expect(snapshot.numbers == [5] && snapshot.registrations.isEmpty)
    }

    @Test func `much that was deleted is given back to the system in parts`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        let payload = [UInt8](repeating: 1, count: 4_000)
        let numbers = UInt64(1)...1_000
        try store.commit(numbers.map { .append(Sample.push($0, payload: payload)) })
        try store.commit(numbers.map { .discard($0) })
        let database = try store.database()
        #expect(try !store.maintain(at: Sample.now), "so little is kept for reuse")
        var parts = 1
        while try database.vacuumPart(keeping: 300) { parts += 1 }
        #expect(parts > 1)
        #expect(try database.number("pragma freelist_count") <= 300)
        #expect(try database.number("pragma page_count") < 400)
    }
}

private func kind(_ body: () throws(StoreError) -> Void) -> StoreError.Kind? {
    do {
        try body()
        return nil
    } catch {
        return error.kind
    }
}

private func mode(_ path: String) throws -> mode_t {
    var status = stat()
    try #require(stat(path, &status) == 0)
    return status.st_mode & 0o777
}

private func contents(_ path: String) throws -> [UInt8] {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 16 << 20)
    let count = fread(&bytes, 1, bytes.count, file)
    return Array(bytes.prefix(count))
}

private func copyFile(_ path: String, to copy: String) throws {
    let bytes = try contents(path)
    let file = try #require(fopen(copy, "w"))
    defer { fclose(file) }
    #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
}

private func overwrite(_ path: String, from offset: Int, count: Int) throws {
    let file = try #require(fopen(path, "r+"))
    defer { fclose(file) }
    fseek(file, offset, SEEK_SET)
    let noise = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
    #expect(fwrite(noise, 1, count, file) == count)
}
