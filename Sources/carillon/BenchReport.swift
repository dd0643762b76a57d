import Client
import JSON

/// What a load measured, in words and for programs.
struct BenchReport {
    let load: String
    let result: LoadResult

    func show(json: Bool) {
        if json {
            Output.object(write)
        } else {
            for line in lines { Output.line(line) }
        }
    }

    /// For programs, one object; times are microseconds unless they say otherwise.
    func write(to writer: inout JSONWriter) {
        writer.field("load", load)
        writer.field("count", result.count)
        writer.field("seconds", result.seconds)
        writer.field("rate", result.rate)
        writer.key("statuses")
        writer.object { writer in
            for (status, count) in result.statuses.sorted(by: { $0.key < $1.key }) {
                writer.field(status == 0 ? "reset" : String(status), count)
            }
        }
        writer.field("unanswered", result.unanswered)
        writer.field("resumed", result.resumed)
        writer.field("delivered", result.deliveries?.delivered)
        writer.field("missing", result.deliveries?.missing)
        writer.field("repeated", result.deliveries?.repeated)
        write(result.deliveries?.latency ?? result.answers, as: "latency", to: &writer)
        write(result.answers, as: "answers", to: &writer)
        writer.field("serverCPUSeconds", result.serverCPUSeconds)
        writer.field("serverCPUPerRequest", result.serverCPUSeconds.map { $0 / Double(result.count) * 1e6 })
        writer.field("clientCPUSeconds", result.clientCPUSeconds)
        writer.field("isLimit", result.isLimit)
        writer.field("loop", result.isOpenLoop ? "open" : "closed")
        writer.field("lastFailure", result.lastFailure)
    }

    private func write(_ histogram: LatencyHistogram, as name: String, to writer: inout JSONWriter) {
        writer.key(name)
        writer.object { writer in
            for (key, nanoseconds) in figures(histogram) { writer.field(key, nanoseconds / 1000) }
        }
    }

    private func figures(_ histogram: LatencyHistogram) -> [(name: String, nanoseconds: Double)] {
        [
            ("p50", Double(histogram.percentile(50))), ("p90", Double(histogram.percentile(90))),
            ("p99", Double(histogram.percentile(99))), ("p999", Double(histogram.percentile(99.9))),
            ("max", Double(histogram.max)), ("mean", histogram.mean),
        ]
    }

    /// For people.
    var lines: [String] {
        var lines = ["\(load)     \(result.count) in \(oneDecimal(result.seconds)) s, \(Int(result.rate))/s"]
        let statuses = result.statuses.sorted { $0.key < $1.key }
            .map { "\($0.key == 0 ? "reset" : String($0.key)): \($0.value)" }
        if !statuses.isEmpty { lines.append("statuses     \(statuses.joined(separator: ", "))") }
        if result.unanswered > 0 { lines.append("failed       \(result.unanswered)") }
        if let resumed = result.resumed { lines.append("resumed      \(resumed)") }
        if let deliveries = result.deliveries {
            lines.append(
                "delivered    \(deliveries.delivered), missing \(deliveries.missing), repeated \(deliveries.repeated)"
            )
            lines.append("to device    \(times(deliveries.latency))")
        }
        lines.append("\(result.statuses.isEmpty ? "connect  " : "to answer")    \(times(result.answers))")
        if let seconds = result.serverCPUSeconds {
            let each = oneDecimal(seconds / Double(result.count) * 1e6)
            lines.append("server CPU   \(oneDecimal(seconds)) s, \(each) us each")
        }
        let each = oneDecimal(result.clientCPUSeconds / Double(result.count) * 1e6)
        lines.append("client CPU   \(oneDecimal(result.clientCPUSeconds)) s, \(each) us each")
        lines.append(
            result.isOpenLoop
                ? "loop         open: times count from when a request was planned, also if it was sent late"
                : "loop         closed: the next waits for an answer, so a slow server is asked less"
        )
        if result.isLimit { lines.append("limit        the client had no time to spare: this is its speed, too") }
        if let failure = result.lastFailure { lines.append("last failure \(failure)") }
        return lines
    }

    private func times(_ histogram: LatencyHistogram) -> String {
        figures(histogram).map { "\($0.name) \(oneDecimal($0.nanoseconds / 1e6))" }.joined(separator: ", ") + " ms"
    }
}
