import Foundation
import Glibc
import PushCore
import Testing

@testable import Storage

@Suite struct SchemaTests {
    /// A store as an older version left it.
    private func makeOldStore(_ version: Int, in folder: borrowing TemporaryFolder) throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Data/schema/version-\(version).sql")
        try Database(file: folder.database).execute(String(contentsOf: path, encoding: .utf8))
    }

    @Test func `a store of version 1 becomes one of today with all it held`() throws {
        let folder = try TemporaryFolder()
        try makeOldStore(1, in: folder)
        let store = try SQLiteStore(path: folder.database)
        let snapshot = try store.load(at: Sample.now)
        #expect(snapshot.numbers == [16_777_217, 16_777_219, 16_777_221, 16_777_225])
        #expect(snapshot.registrations.map(\.state) == [.active, .unregistered, .active])
        #expect(snapshot.devices.map(\.name) == ["phone"] && snapshot.devices[0].signer == 0)
        #expect(snapshot.apps.count == 4 && snapshot.keys.count == 3)
        #expect(snapshot.lastPushNumber == 33_554_432 && snapshot.lastRegistrationNumber == 3 && !snapshot.isNew)
        #expect(try store.payloads([16_777_217]) == [Array(#"{"n":1}"#.utf8)])
        #expect(try store.database().number("pragma user_version") == StoreSQL.schema.version)
        #expect(try store.database().number("select count(*) from sqlite_schema where name = 'settings'") == 0)
    }

    @Test func `an upgrade keeps a copy of what was there, for its owner only`() throws {
        let folder = try TemporaryFolder()
        try makeOldStore(1, in: folder)
        try SQLiteStore(path: folder.database).close()
        let copy = Schema.copyPath(of: folder.database, before: StoreSQL.schema.version)
        var status = stat()
        try #require(stat(copy, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        let old = try Database(file: copy)
        #expect(try old.number("pragma user_version") == 1)
        #expect(try old.number("select count(*) from pushes") == 4)
        #expect(try old.text("pragma integrity_check") == "ok")
    }

    @Test func `a store that is new or of today leaves no copy`() throws {
        let folder = try TemporaryFolder()
        for _ in 0..<2 { try SQLiteStore(path: folder.database).close() }
        let copy = Schema.copyPath(of: folder.database, before: StoreSQL.schema.version)
        #expect(access(copy, F_OK) != 0)
    }

    @Test func `an upgrade that cannot keep a copy changes nothing`() throws {
        let folder = try TemporaryFolder()
        try makeOldStore(1, in: folder)
        let copy = Schema.copyPath(of: folder.database, before: StoreSQL.schema.version)
        // A folder that is not empty is in its way.
        mkdir(copy, 0o700)
        mkdir(copy + "/in the way", 0o700)
        defer {
            rmdir(copy + "/in the way")
            rmdir(copy)
        }
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.database) }
        #expect(error?.what.contains("cannot keep a copy of it before bringing it to version 2") == true)
        #expect(try Database(file: folder.database).number("pragma user_version") == 1)
    }

    @Test func `an upgrade that fails half way changes nothing`() throws {
        let folder = try TemporaryFolder()
        try makeOldStore(1, in: folder)
        try Database(file: folder.database).execute("alter table devices add column signer integer")
        #expect(throws: StoreError.self) { try SQLiteStore(path: folder.database) }
        let database = try Database(file: folder.database)
        #expect(try database.number("pragma user_version") == 1)
        #expect(try database.number("select count(*) from settings") == 1)
    }

    @Test func `a newer version is refused with the ways out that there are`() throws {
        let folder = try TemporaryFolder()
        try makeOldStore(1, in: folder)
        try SQLiteStore(path: folder.database).close()
        try Database(file: folder.database).execute("pragma user_version = 4")
        let plain = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.database) }
        #expect(plain?.what == "it has version 4, this program knows \(StoreSQL.schema.version)")
        #expect(plain?.remedy.hasPrefix("install the version of carillon that wrote it, or restore a backup") == true)
        let copy = Schema.copyPath(of: folder.database, before: 4)
        rename(Schema.copyPath(of: folder.database, before: StoreSQL.schema.version), copy)
        let withCopy = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.database) }
        #expect(withCopy?.remedy.contains("mv \(copy) \(folder.database)") == true)
    }

    @Test func `the way back leads to the store as it was`() throws {
        let folder = try TemporaryFolder()
        try makeOldStore(1, in: folder)
        let store = try SQLiteStore(path: folder.database)
        try store.commit([.append(Sample.push(99_999_999))])
        store.close()
        for suffix in ["-wal", "-shm"] { unlink(folder.database + suffix) }
        rename(Schema.copyPath(of: folder.database, before: StoreSQL.schema.version), folder.database)
        #expect(try SQLiteStore(path: folder.database).load(at: Sample.now).numbers.count == 4)
    }
}
