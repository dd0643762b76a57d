import BenchmarkSupport
import Client
import JSON

/// What a measurement gave.
struct LoadResult {
    let nanoseconds: Int64
    let delivered: Int
    let repeated: Int
    let latency: LatencyHistogram
    let serverNanoseconds: Int64
    let clientNanoseconds: Int64

    /// The names and units of `carillon bench`, so that one reader takes both.
    func members(_ name: String, _ load: LoadOptions) -> [(String, JSONValue)] {
        let seconds = Double(nanoseconds) / 1e9
        return [
            ("load", .string(name)),
            ("count", .integer(Int64(load.count))),
            ("seconds", .number(seconds)),
            ("rate", .number(Double(delivered) / seconds)),
            ("delivered", .integer(Int64(delivered))),
            ("missing", .integer(Int64(load.count - delivered))),
            ("repeated", .integer(Int64(repeated))),
            ("latency", .object(latencies)),
            ("serverCPUSeconds", .number(Double(serverNanoseconds) / 1e9)),
            ("serverCPUPerRequest", .number(Double(serverNanoseconds) / 1e3 / Double(max(1, delivered)))),
            ("clientCPUSeconds", .number(Double(clientNanoseconds) / 1e9)),
            ("isLimit", .bool(isLimit(load))),
            ("loop", .string(load.rate == nil ? "closed" : "open")),
        ]
    }

    /// The same for people.
    func lines(_ name: String, _ load: LoadOptions) -> [String] {
        let rate = Int(Double(delivered) * 1e9 / Double(nanoseconds))
        let latency = latencies.map { "\($0.0) \(rounded($0.1.double ?? 0))" }.joined(separator: ", ")
        let used = Double(serverNanoseconds) / 1e3 / Double(max(1, delivered))
        var lines = [
            "\(name): \(delivered) of \(load.count) delivered, \(repeated) repeated, \(rate)/s",
            "latency in us: \(latency)",
            "client CPU \(rounded(Double(clientNanoseconds) / 1e3 / Double(max(1, delivered)))) us a message",
        ]
        if !load.servers.isEmpty {
            let busy = Int(100 * Double(serverNanoseconds) / Double(nanoseconds))
            lines.append("server CPU \(rounded(used)) us a message, busy \(busy) % of the time")
        }
        if isLimit(load) { lines.append("the load itself was the limit: the server could do more") }
        return lines
    }

    private func isLimit(_ load: LoadOptions) -> Bool {
        load.rate == nil && Double(clientNanoseconds) > 0.9 * Double(nanoseconds)
    }

    private var latencies: [(String, JSONValue)] {
        func microseconds(_ percent: Double) -> JSONValue { .number(Double(latency.percentile(percent)) / 1e3) }
        return [
            ("p50", microseconds(50)), ("p90", microseconds(90)), ("p99", microseconds(99)),
            ("p999", microseconds(99.9)), ("max", .number(Double(latency.max) / 1e3)),
            ("mean", .number(latency.mean / 1e3)),
        ]
    }
}

private func rounded(_ number: Double) -> Double { (number * 100).rounded() / 100 }
