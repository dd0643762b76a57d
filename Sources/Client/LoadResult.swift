import Reactor

/// What a load measured.
package struct LoadResult: Sendable {
    /// Requests or connections that were to be made.
    package var count = 0
    /// The measured part, from its first request to its end.
    package var seconds = 0.0
    /// How many answers had which status; 0 is a stream that was reset.
    package var statuses: [Int: Int] = [:]
    /// Requests that were never answered, or connections that failed.
    package var unanswered = 0
    /// Connections that a ticket spared the certificate; nil for a load that offers none.
    package var resumed: Int?
    /// What devices got; nil for a load without deliveries.
    package var deliveries: LoadDeliveries?
    /// From the planned moment to the answer, or for connections from the first step to the last.
    package var answers = LatencyHistogram()
    /// Of the process that was named, if one was.
    package var serverCPUSeconds: Double?
    /// Of the load's one thread.
    package var clientCPUSeconds = 0.0
    /// Whether requests were sent as planned, whatever the answers did.
    package var isOpenLoop = false
    /// Why the last connection that failed did so; nil if none has.
    package var lastFailure: String?

    package init() {}

    /// Per second.
    package var rate: Double { seconds > 0 ? Double(count) / seconds : 0 }
    /// Whether the client had no time to spare, so that the figures tell of it and not of the server.
    package var isLimit: Bool { !isOpenLoop && clientCPUSeconds > 0.9 * seconds }
}

/// What came of a load's pushes at the devices.
package struct LoadDeliveries: Sendable {
    /// Pushes that came.
    package var delivered: Int
    /// Accepted pushes that did not.
    package var missing: Int
    /// Deliveries of a push that had come before.
    package var repeated: Int
    /// From the planned moment to the device's read.
    package var latency: LatencyHistogram
}

/// The clocks at the beginning of a measured part.
struct LoadClock {
    private let server: Int32?
    private let serverSeconds: Double?
    private let threadNanoseconds: Int64
    /// Monotonic nanoseconds.
    let start: Int64

    /// `server` is the process whose CPU time is wanted.
    init(server: Int32?) {
        self.server = server
        serverSeconds = server.flatMap { Machine.cpuSeconds(ofProcess: $0) }
        threadNanoseconds = Clock.threadCPU()
        start = Clock.monotonic()
    }

    /// Writes down what has passed since.
    func stop(into result: inout LoadResult) {
        result.seconds = Double(Clock.monotonic() - start) / 1e9
        result.clientCPUSeconds = Double(Clock.threadCPU() - threadNanoseconds) / 1e9
        guard let serverSeconds, let end = server.flatMap({ Machine.cpuSeconds(ofProcess: $0) }) else { return }
        result.serverCPUSeconds = end - serverSeconds
    }
}
