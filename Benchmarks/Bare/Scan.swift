import BenchmarkSupport
import CSQLite
import JSON
import Reactor
import Storage

/// What reading a store costs below the gateway's start: its statements, stepped through, each column touched.
struct Scan {
    let file: String
    /// Whether the file is first thrown out of the page cache, rather than read into it.
    let isCold: Bool
    let json: Bool

    func run() throws {
        if isCold { try PageCache.drop(file) } else { try PageCache.warm(file) }
        let processor = Clock.threadCPU()
        let start = Clock.monotonic()
        let database = try BareDatabase(file: file, settings: StoreSQL.settings)
        var (rows, sum) = (0, 0)
        for query in StoreSQL.startQueries {
            let statement = try database.prepare(query)
            while try statement.step() {
                rows += 1
                sum &+= touch(statement)
            }
        }
        let seconds = Double(Clock.monotonic() - start) / 1e9
        let used = Double(Clock.threadCPU() - processor) / 1e9
        let state = isCold ? "cold" : "warm"
        // The sum is told so that nothing can be left out as without use.
        Measured(name: "scan", rows: rows, seconds: seconds, processorSeconds: used).show(
            first: "\(seconds) s \(state) (sum \(sum))",
            json: json,
            more: [("cold", .bool(isCold))]
        )
    }

    /// Every number, and the last byte of everything else, which is on its last page.
    private func touch(_ row: BareStatement) -> Int {
        var sum = 0
        for column in 0..<sqlite3_column_count(row.raw) {
            if sqlite3_column_type(row.raw, column) == SQLITE_INTEGER {
                sum &+= Int(sqlite3_column_int64(row.raw, column))
            } else if let bytes = sqlite3_column_blob(row.raw, column) {
                let count = Int(sqlite3_column_bytes(row.raw, column))
                if count > 0 { sum &+= Int(bytes.load(fromByteOffset: count - 1, as: UInt8.self)) }
            }
        }
        return sum
    }
}
