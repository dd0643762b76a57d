import BenchmarkSupport

/// How much is sent to where, and how fast.
struct LoadOptions: Sendable {
    var host: String
    var port: UInt16
    var subscribers = 200
    var publishers = 10
    var count = 100_000
    /// Messages before those that are measured.
    var warmUp = 10_000
    /// Messages of one publisher that were sent and are not yet confirmed and delivered.
    var inFlight = 100
    /// A publisher waits until it may send that many at once.
    var batch = 1
    var payload = 1024
    /// Messages a second; nil is as many as the limit in flight allows.
    var rate: Int?
    /// The server's processes, whose CPU time is taken.
    var servers: [Int32] = []
    var persistent = false
    var json = false

    static let valued: Set<String> = [
        "to", "subscribers", "publishers", "count", "warm-up", "in-flight", "batch", "payload", "rate", "server",
    ]
    static let flags: Set<String> = ["persistent", "json"]

    init(_ options: Options) throws(OptionError) {
        let address = try options.required("to")
        let parts = address.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1]) else { throw OptionError("--to must be HOST:PORT") }
        host = String(parts[0])
        self.port = port
        subscribers = try options.number("subscribers", subscribers, in: 1...15_000)
        publishers = try options.number("publishers", publishers, in: 1...1_000)
        count = try options.number("count", count, in: 1...100_000_000)
        warmUp = try options.number("warm-up", warmUp, in: 0...100_000_000)
        inFlight = try options.number("in-flight", inFlight, in: 1...10_000)
        batch = try options.number("batch", batch, in: 1...inFlight)
        payload = try options.number("payload", payload, in: Payload.minimum...1_000_000)
        if options.text("rate") != nil { rate = try options.number("rate", 0, in: 1...10_000_000) }
        servers = try processes(options.text("server") ?? "")
        persistent = options.has("persistent")
        json = options.has("json")
    }
}

private func processes(_ text: String) throws(OptionError) -> [Int32] {
    let numbers = text.split(separator: ",").map { Int32($0) }
    guard !numbers.contains(nil) else { throw OptionError("--server must be process ids, separated by commas") }
    return numbers.compactMap { $0 }
}
