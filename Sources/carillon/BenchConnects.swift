import Client
import PushCore
import Reactor

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
