import BenchmarkSupport
import JSON

/// What going through a database gave.
struct Measured {
    let name: String
    let rows: Int
    let seconds: Double
    let processorSeconds: Double

    /// One line: a JSON object, or words that begin with `first`.
    func show(first: String, json: Bool, more: [(String, JSONValue)] = []) {
        guard json else {
            let each = (processorSeconds * 1e8 / Double(max(1, rows))).rounded() / 100
            return Terminal.line("\(first), \(rows) rows, \(each) us of CPU each")
        }
        let members: [(String, JSONValue)] = [
            ("load", .string(name)), ("count", .integer(Int64(rows))), ("seconds", .number(seconds)),
            ("rate", .number(Double(rows) / seconds)), ("cpuSeconds", .number(processorSeconds)),
        ]
        Terminal.object(members + more)
    }
}
