import BenchmarkSupport
import CSQLite
import PushCore
import Reactor
import Storage

/// The insert rate below the store: its statement, prepared once, in transactions of a fixed size. What is the same for
/// all rows is bound once.
struct Inserts {
    let file: String
    let count: Int
    let payload: Int
    let batch: Int
    let json: Bool

    /// Makes `file`, which must not be there, and prints the rows per second.
    func run() throws {
        guard !PageCache.exists(file) else { throw OptionError("\(file) is there already") }
        // The store itself makes the file, so that the tables are its own.
        try SQLiteStore(path: file).close()
        let database = try BareDatabase(file: file, settings: StoreSQL.settings)
        let row = try database.prepare(StoreSQL.insertPush)
        let (begin, commit) = (try database.prepare("begin immediate"), try database.prepare("commit"))
        let blobs = Blobs(payload: payload)
        blobs.bind(to: row)
        let processor = Clock.threadCPU()
        let start = Clock.monotonic()
        var number = 0
        while number < count {
            try begin.run()
            for _ in 0..<min(batch, count - number) {
                number += 1
                bind(number, to: row)
                try row.run()
            }
            try commit.run()
        }
        let seconds = Double(Clock.monotonic() - start) / 1e9
        let used = Double(Clock.threadCPU() - processor) / 1e9
        Measured(name: "inserts", rows: count, seconds: seconds, processorSeconds: used).show(
            first: "\(Double(count) / seconds) rows/s",
            json: json
        )
    }

    private func bind(_ number: Int, to row: BareStatement) {
        let now = Clock.wall()
        sqlite3_bind_int64(row.raw, 1, Int64(number))
        sqlite3_bind_int64(row.raw, 2, Int64(number % 200))
        sqlite3_bind_int64(row.raw, 3, Int64(Priority.immediate.rawValue))
        sqlite3_bind_int64(row.raw, 4, Int64(PushType.alert.code))
        sqlite3_bind_int64(row.raw, 5, now + 3_600_000_000_000)
        sqlite3_bind_int64(row.raw, 6, now)
    }
}

/// The columns that are bytes, at addresses that stay while the statement is used.
private final class Blobs {
    private let bytes: UnsafeMutableRawBufferPointer
    private static let apnsIDCount = 36

    init(payload: Int) {
        bytes = .allocate(byteCount: Self.apnsIDCount + UniqueID.count + payload, alignment: 1)
        for index in bytes.indices { bytes[index] = UInt8(ascii: "x") }
    }

    deinit { bytes.deallocate() }

    func bind(to row: BareStatement) {
        let payload = Self.apnsIDCount + UniqueID.count
        sqlite3_bind_blob(row.raw, 7, bytes.baseAddress, Int32(Self.apnsIDCount), nil)
        sqlite3_bind_blob(row.raw, 8, bytes.baseAddress! + Self.apnsIDCount, Int32(UniqueID.count), nil)
        sqlite3_bind_zeroblob(row.raw, 9, 0)
        sqlite3_bind_blob(row.raw, 10, bytes.baseAddress! + payload, Int32(bytes.count - payload), nil)
    }
}
