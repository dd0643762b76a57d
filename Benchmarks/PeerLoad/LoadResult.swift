import BenchmarkSupport
import Client
import JSON

/// What a measurement gave.
struct LoadResult {
    let seconds: Double
    let delivered: Int
    let repeated: Int
    let latency: LatencyHistogram
    let serverSeconds: Double
    let clientSeconds: Double

    /// The names and units of `carillon bench`, so that one reader takes both.
    func members(_ name: String, _ load: LoadOptions) -> [(String, JSONValue)] {
        let isServerKnown = !load.servers.isEmpty
        return [
            ("load", .string(name)),
            ("count", .integer(Int64(load.count))),
            ("seconds", .number(seconds)),
            ("rate", .number(Double(delivered) / seconds)),
            ("delivered", .integer(Int64(delivered))),
            ("missing", .integer(Int64(load.count - delivered))),
            ("repeated", .integer(Int64(repeated))),
            ("latency", .object(latencies)),
            ("serverCPUSeconds", isServerKnown ? .number(serverSeconds) : .null),
            ("serverCPUPerRequest", isServerKnown ? .number(microsecondsEach(serverSeconds)) : .null),
            ("clientCPUSeconds", .number(clientSeconds)),
            ("isLimit", .bool(isLimit(load))),
            ("loop", .string(load.rate == nil ? "closed" : "open")),
        ]
    }

    /// The same for people.
    func lines(_ name: String, _ load: LoadOptions) -> [String] {
        let rate = Int(Double(delivered) / seconds)
        let latency = latencies.map { "\($0.0) \(rounded($0.1.double ?? 0))" }.joined(separator: ", ")
        var lines = [
            "\(name): \(delivered) of \(load.count) delivered, \(repeated) repeated, \(rate)/s",
            "latency in us: \(latency)",
            "client CPU \(rounded(microsecondsEach(clientSeconds))) us a message",
        ]
        if !load.servers.isEmpty {
            let busy = Int(100 * serverSeconds / seconds)
            lines.append(
                "server CPU \(rounded(microsecondsEach(serverSeconds))) us a message, busy \(busy) % of the time"
            )
        }
        if isLimit(load) { lines.append("the load itself was the limit: the server could do more") }
        return lines
    }

    private func isLimit(_ load: LoadOptions) -> Bool {
        load.rate == nil && clientSeconds > 0.9 * seconds
    }

    private func microsecondsEach(_ total: Double) -> Double { total * 1e6 / Double(max(1, delivered)) }

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
