import Client
import PushCore
import Reactor

/// What the loads that push have in common.
struct BenchOptions {
    let count: Int
    let warmUp: Int
    let shape: LoadShape
    let payloadSize: Int
    let server: Int32?

    /// A push's number, and what is remembered of it, must fit into memory.
    private static let countLimit = 20_000_000

    init(_ invocation: Invocation, defaultCount: Int = 100_000) throws(CommandError) {
        count = try invocation.number("count", in: 1...Self.countLimit) ?? defaultCount
        warmUp = try invocation.number("warm-up", in: 0...Self.countLimit) ?? count / 10
        var shape = LoadShape()
        shape.connections = try invocation.number("connections", in: 1...1000) ?? shape.connections
        shape.inFlight = try invocation.number("in-flight", in: 1...10_000) ?? shape.inFlight
        shape.rate = try invocation.number("rate", in: 1...1_000_000).map(Double.init)
        self.shape = shape
        payloadSize = try invocation.number("payload", in: 64...Limits.payload) ?? 1024
        server = try Self.server(invocation)
    }

    /// The process that `--server` names; it must be there.
    static func server(_ invocation: Invocation) throws(CommandError) -> Int32? {
        guard let id = try invocation.number("server", in: 1...Int(Int32.max)) else { return nil }
        guard Machine.cpuSeconds(ofProcess: Int32(id)) != nil else {
            throw .usage("--server: there is no process \(id)")
        }
        return Int32(id)
    }
}
