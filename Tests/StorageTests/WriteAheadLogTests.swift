import Glibc
import Testing

@testable import Storage

@Suite struct WriteAheadLogTests {
    /// A log as SQLite writes it, with a frame or more for each of `count` transactions.
    private func log(transactions count: Int) throws -> [UInt8] {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.database)
        for number in 1...UInt64(count) { try store.commit([.append(Sample.push(number))]) }
        let file = try #require(fopen(folder.database + "-wal", "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let used = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(used))
    }

    /// Whether a start would go on with these bytes as its log.
    private func isSound(_ bytes: [UInt8]) -> Bool {
        guard var log = WriteAheadLog(header: Array(bytes.prefix(WriteAheadLog.headerCount))) else { return false }
        var place = WriteAheadLog.headerCount
        while place + log.frameCount <= bytes.count {
            guard log.isSound(Array(bytes[place..<place + log.frameCount])) else { return false }
            place += log.frameCount
        }
        return true
    }

    @Test func `a whole log is sound`() throws {
        #expect(isSound(try log(transactions: 5)))
    }

    @Test func `a log may end anywhere`() throws {
        let bytes = try log(transactions: 5)
        for count in stride(from: WriteAheadLog.headerCount, to: bytes.count, by: 509) {
            #expect(isSound(Array(bytes.prefix(count))))
        }
    }

    @Test func `the last transaction may be torn`() throws {
        var bytes = try log(transactions: 5)
        bytes[bytes.count - 2000] ^= 1
        #expect(isSound(bytes))
        bytes[bytes.count - 4110] ^= 1
        #expect(isSound(bytes))
    }

    @Test func `damage before the last transactions is found, in a page and in a frame's header`() throws {
        let bytes = try log(transactions: 8)
        for place in [32 + 5, 32 + 17, 32 + 24 + 100, 32 + 4120 + 8, 32 + 4120 + 2000] {
            var damaged = bytes
            damaged[place] ^= 1
            #expect(!isSound(damaged), "at \(place)")
        }
    }

    @Test func `no byte of a header may be another`() throws {
        let bytes = try log(transactions: 1)
        for place in 0..<WriteAheadLog.headerCount {
            var damaged = bytes
            damaged[place] ^= 0x10
            #expect(!isSound(damaged), "at \(place)")
        }
    }

    @Test func `frames of the log before are no damage`() throws {
        let old = try log(transactions: 8)
        let new = try log(transactions: 2)
        #expect(isSound(new + old[new.count...]))
    }

    @Test func `what was never there is no damage`() throws {
        let folder = try TemporaryFolder()
        #expect(throws: Never.self) { try WriteAheadLog.check(folder.database + "-wal") }
    }
}
