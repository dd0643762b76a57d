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
        try BenchGateway.checkOpenFiles(devices)
        return try gateway.withDevices(devices) { identities, interruption throws(CommandError) in
            let fleet = try gateway.fleet(identities, until: interruption.isRequested)
            if let path = invocation.value("tokens-out") {
                try Files.replace(path, Array((fleet.tokens.joined(separator: "\n") + "\n").utf8), mode: 0o600)
            }
            if isOffline { try leave(fleet, interruption) }
            let load = try load(gateway, fleet, options, isOffline: isOffline)
            load.isInterrupted = interruption.isRequested
            let result = try push(load, to: gateway, options)
            fleet.close()
            BenchReport(load: "pushes", result: result).show(json: invocation.wantsJSON)
            let lost = result.deliveries.map { $0.missing + $0.repeated } ?? 0
            return result.statuses == [200: options.count] && lost == 0 ? .done : .failed
        }
    }

    private static func load(
        _ gateway: BenchGateway,
        _ fleet: CourierFleet,
        _ options: BenchOptions,
        isOffline: Bool
    ) throws(CommandError) -> PushLoad {
        let (host, port) = try gateway.provider()
        let target = LoadTarget(
            authority: reachable(host: host, port: port),
            tokens: fleet.tokens,
            topic: gateway.target.topic,
            authorization: try gateway.target.signer.authorization(),
            payloadSize: options.payloadSize
        )
        return try measured { () throws(LoadError) in
            try PushLoad(target, shape: options.shape, fleet: isOffline ? nil : fleet)
        }
    }

    private static func push(
        _ load: PushLoad,
        to gateway: BenchGateway,
        _ options: BenchOptions
    ) throws(CommandError) -> LoadResult {
        let (host, port) = try gateway.provider()
        let (destination, caPEM) = (try destination(host, port), try gateway.authorityPEM)
        return try measured { () throws(LoadError) in
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
    private static func leave(_ fleet: CourierFleet, _ interruption: BenchInterruption) throws(CommandError) {
        var quietSince = Clock.monotonic()
        do throws(CourierError) {
            try fleet.run(until: { Clock.monotonic() - quietSince > 500_000_000 || interruption.isRequested() }) {
                _,
                _ in
                quietSince = Clock.monotonic()
            }
        } catch {
            throw .failed(code: "devices", message: error.description)
        }
        fleet.close()
    }
}
