import Client
import Glibc
import JSON

/// `carillon bench sessions`: devices that do nothing.
enum BenchSessions {
    static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let count = try invocation.number("count", in: 1...15_000) ?? 1000
        try BenchGateway.checkOpenFiles(count)
        let gateway = try BenchGateway(invocation)
        return try gateway.withDevices(count) { identities, interruption throws(CommandError) in
            try hold(try gateway.fleet(identities, until: interruption.isRequested), interruption)
            return .done
        }
    }

    private static func hold(_ fleet: CourierFleet, _ interruption: BenchInterruption) throws(CommandError) {
        // For programs in any case: they wait for it.
        Output.object { writer in
            writer.field("event", "ready")
            writer.field("sessions", fleet.readyCount)
        }
        let failuresBefore = fleet.failureCount
        do throws(CourierError) {
            try fleet.run { interruption.isRequested() || inputHasEnded() }
        } catch {
            throw .failed(code: "devices", message: error.description)
        }
        let lost = fleet.failureCount - failuresBefore
        if lost > 0 { Output.note("connections lost: \(lost), the last: \(fleet.lastFailure?.description ?? "")") }
        fleet.close()
        guard !interruption.isRequested() else { throw .failed(code: "interrupted", message: "interrupted") }
    }

    /// Looks without waiting. What is typed is thrown away.
    private static func inputHasEnded() -> Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&input, 1, 0) > 0 else { return false }
        var bytes = [UInt8](repeating: 0, count: 256)
        return read(STDIN_FILENO, &bytes, bytes.count) <= 0
    }
}
