import JSON

/// `carillon status`: one screen.
enum StatusCommand {
    static let command = Command(
        name: "status",
        summary: "one screen: sessions, queue, rates, latencies, certificate, version",
        options: CommandOption.adminAccess,
        example: "carillon status",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let gateway = try AdminGateway(invocation)
        let body = try gateway.request("GET", "/v1/status")
        guard !invocation.wantsJSON else {
            Output.json(body)
            return .done
        }
        for line in screen(try gateway.parse(body), url: gateway.url) { Output.line(line) }
        return .done
    }

    /// What people see of the status.
    static func screen(_ status: JSONValue, url: String) -> [String] {
        func show(_ field: String) -> String { status[field].flatMap(text) ?? "-" }
        func milliseconds(_ field: String) -> String {
            status[field]?.double.map { "\(oneDecimal($0 * 1000)) ms" } ?? "-"
        }
        func rate(_ field: String) -> String { status[field]?.double.map { "\(oneDecimal($0))/s" } ?? "-" }
        let state = status["draining"]?.bool == true ? "draining" : "running"
        func days(_ field: String) -> String { status[field]?.double.map { "\(Int($0 / 86_400)) days" } ?? "-" }
        let age = status["queuedOldestSeconds"]?.double.map { duration(seconds: $0) } ?? "-"
        return [
            "carillon \(show("version")) at \(url): \(state), \(show("environment")), since \(show("startedAt"))",
            "",
            "  sessions           \(show("sessions"))",
            "  queued             \(show("queued")), oldest \(age)",
            "  accepted           \(rate("acceptedPerSecond"))",
            "  delivered          \(rate("deliveredPerSecond"))",
            "  delivery p50, p99  \(milliseconds("deliverySecondsP50")), \(milliseconds("deliverySecondsP99"))",
            "  store lag          \(milliseconds("storeLagSeconds"))",
            "  certificate        \(days("certificateSecondsLeft")) left, authority \(days("authoritySecondsLeft"))",
        ]
    }
}

/// A number with one digit after the point.
func oneDecimal(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(tenths / 10).\(abs(tenths % 10))"
}

/// A length of time in its largest whole unit: people compare, they do not compute.
func duration(seconds: Double) -> String {
    let units: [(name: String, seconds: Double)] = [("d", 86_400), ("h", 3600), ("m", 60)]
    let unit = units.first { seconds >= 2 * $0.seconds } ?? ("s", 1)
    return "\(Int(seconds / unit.seconds))\(unit.name)"
}
