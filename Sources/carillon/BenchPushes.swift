import Client
import Gateway
import Glibc
import JSON
import PushCore
import Reactor

/// `carillon bench pushes`: from the provider through the gateway to devices that acknowledge.
enum BenchPushes {
    static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let isOffline = invocation.has("offline")
        let options = try BenchOptions(invocation, defaultCount: isOffline ? 10_000 : 100_000)
        let devices = try invocation.number("devices", in: 1...15_000) ?? 200
        let gateway = try BenchGateway(invocation)
        let config = gateway.instance.config
        try checkRoom(
            options,
            devices: devices,
            offlineLimit: isOffline ? config.queueLimit : nil,
            backlog: config.deliveryBacklog
        )
        let fleet = try gateway.fleet(devices)
        if let path = invocation.value("tokens-out") {
            try Files.replace(path, Array((fleet.tokens.joined(separator: "\n") + "\n").utf8), mode: 0o600)
        }
        if isOffline { try leave(fleet) }
        let result = try push(gateway, fleet, options, isOffline: isOffline)
        fleet.close()
        BenchReport(load: "pushes", result: result).show(json: invocation.wantsJSON)
        let lost = result.deliveries.map { $0.missing + $0.repeated } ?? 0
        return result.statuses == [200: options.count] && lost == 0 ? .done : .failed
    }

    private static func push(
        _ gateway: BenchGateway,
        _ fleet: CourierFleet,
        _ options: BenchOptions,
        isOffline: Bool
    ) throws(CommandError) -> LoadResult {
        let (host, port) = try gateway.provider()
        let target = LoadTarget(
            authority: reachable(host: host, port: port),
            tokens: fleet.tokens,
            topic: gateway.target.topic,
            authorization: try gateway.target.signer.authorization(),
            payloadSize: options.payloadSize
        )
        let (destination, caPEM) = (try destination(host, port), try gateway.authorityPEM)
        return try measured { () throws(LoadError) in
            let load = try PushLoad(target, shape: options.shape, fleet: isOffline ? nil : fleet)
            try load.connect(to: destination, caPEM: caPEM)
            if options.warmUp > 0 { _ = try load.run(count: options.warmUp) }
            let result = try load.run(count: options.count, server: options.server)
            load.close()
            return result
        }
    }

    /// Refuses what a gateway would have to drop or refuse: that would measure something else.
    static func checkRoom(
        _ options: BenchOptions,
        devices: Int,
        offlineLimit: Int?,
        backlog: Int
    ) throws(CommandError) {
        if let limit = offlineLimit {
            let (wanted, room) = (options.count + options.warmUp, devices * limit)
            guard wanted > room else { return }
            throw .usage(
                "\(wanted) pushes with the warm-up, and \(devices) devices hold \(room) (queue.limit is \(limit)): "
                    + "say --devices \((wanted + limit - 1) / limit), or a lower --count or --warm-up"
            )
        }
        let wanted = options.shape.connections * options.shape.inFlight
        guard wanted > devices * backlog else { return }
        throw .usage(
            "\(wanted) requests in flight, and \(devices) devices let \(devices * backlog) wait "
                + "(delivery.backlog is \(backlog)): say --devices \((wanted + backlog - 1) / backlog), "
                + "or a lower --in-flight"
        )
    }

    /// Takes what an earlier bench has left in the queues, which would take room from this one, and disconnects.
    private static func leave(_ fleet: CourierFleet) throws(CommandError) {
        var quietSince = Clock.monotonic()
        do throws(CourierError) {
            try fleet.run(until: { Clock.monotonic() - quietSince > 500_000_000 }) { _, _ in
                quietSince = Clock.monotonic()
            }
        } catch {
            throw .failed(code: "devices", message: error.description)
        }
        fleet.close()
    }
}

/// `carillon bench connects`: devices that connect and leave.
enum BenchConnects {
    /// The gateway remembers so many connects of a device for ten minutes and refuses more; half is left to other runs.
    private static let connectsPerDevice = Limits.rememberedNonces / 2

    static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let count = try invocation.number("count", in: 1...10_000_000) ?? 2000
        let parallel = try invocation.number("parallel", in: 1...1000) ?? 32
        let devices = try invocation.number("devices", in: 1...15_000) ?? 50
        let server = try BenchOptions.server(invocation)
        let load: ConnectLoad
        if let address = invocation.value("bare") {
            guard let (host, port) = hostAndPort(address) else {
                throw .usage("--bare must be HOST:PORT, not \(address)")
            }
            let destination = try destination(host, port)
            load = try measured { () throws(LoadError) in
                try ConnectLoad(to: destination, caPEM: nil, identities: [], parallel: parallel)
            }
        } else {
            guard count <= devices * connectsPerDevice else {
                throw .usage(
                    "a device may connect \(connectsPerDevice) times in a bench, for the gateway remembers each: "
                        + "say --devices \((count + connectsPerDevice - 1) / connectsPerDevice), or a lower --count"
                )
            }
            load = try devicesLoad(invocation, devices, parallel)
        }
        let result = try measured { () throws(LoadError) in
            // Each device once, so that the gateway has seen its certificate.
            _ = try load.run(count: invocation.has("bare") ? parallel : devices)
            return try load.run(count: count, server: server)
        }
        BenchReport(load: "connects", result: result).show(json: invocation.wantsJSON)
        return result.unanswered == 0 ? .done : .failed
    }

    private static func devicesLoad(
        _ invocation: Invocation,
        _ devices: Int,
        _ parallel: Int
    ) throws(CommandError) -> ConnectLoad {
        let gateway = try BenchGateway(invocation)
        let identities = try BenchDevices(gateway.instance, gateway.admin).identities(devices)
        let (host, port) = try gateway.device()
        let (destination, caPEM) = (try destination(host, port), try gateway.authorityPEM)
        return try measured { () throws(LoadError) in
            try ConnectLoad(to: destination, caPEM: caPEM, identities: identities, parallel: parallel)
        }
    }
}

/// `carillon bench sessions`: devices that do nothing.
enum BenchSessions {
    static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let count = try invocation.number("count", in: 1...15_000) ?? 1000
        let fleet = try BenchGateway(invocation).fleet(count)
        // For programs in any case: they wait for it.
        Output.object { writer in
            writer.field("event", "ready")
            writer.field("sessions", fleet.readyCount)
        }
        let failuresBefore = fleet.failureCount
        do throws(CourierError) {
            try fleet.run(until: inputHasEnded)
        } catch {
            throw .failed(code: "devices", message: error.description)
        }
        let lost = fleet.failureCount - failuresBefore
        if lost > 0 { Output.note("connections lost: \(lost), the last: \(fleet.lastFailure?.description ?? "")") }
        fleet.close()
        return .done
    }

    /// Looks without waiting. What is typed is thrown away.
    private static func inputHasEnded() -> Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&input, 1, 0) > 0 else { return false }
        var bytes = [UInt8](repeating: 0, count: 256)
        return read(STDIN_FILENO, &bytes, bytes.count) <= 0
    }
}
