import BenchmarkSupport

@testable import peerload

extension Part {
    /// A part of a small load, for a conversation alone.
    static func sample(_ role: Role, index: Int = 0) throws -> Part {
        let load = try LoadOptions(Options(["--to", "localhost:1"], valued: LoadOptions.valued))
        return Part(role: role, index: index, load: load, payload: Payload(run: 1, count: 24))
    }
}
