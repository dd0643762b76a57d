import Client
import Reactor

/// `carillon bench connects`: devices that connect and leave.
enum BenchConnects {
    static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let options = try Options(invocation)
        if let address = invocation.value("bare") {
            guard let (host, port) = hostAndPort(address) else {
                throw .usage("--bare must be HOST:PORT, not \(address)")
            }
            guard !options.resumes else { throw .usage("--resume is for devices, not for --bare") }
            let load = try load(try destination(host, port), caPEM: nil, identities: [], options)
            return try measure(load, warmUp: options.parallel, options)
        }
        let gateway = try BenchGateway(invocation)
        return try gateway.withDevices(options.devices) { identities, interruption throws(CommandError) in
            let (host, port) = try gateway.device()
            let destination = try destination(host, port)
            let load = try load(destination, caPEM: try gateway.authorityPEM, identities: identities, options)
            load.resumes = options.resumes
            load.isInterrupted = interruption.isRequested
            // Each device once, so that the gateway has seen its certificate.
            return try measure(load, warmUp: options.devices, options)
        }
    }

    private struct Options {
        let count: Int
        let parallel: Int
        let devices: Int
        let server: Int32?
        let resumes: Bool
        let isJSON: Bool

        init(_ invocation: Invocation) throws(CommandError) {
            count = try invocation.number("count", in: 1...10_000_000) ?? 2000
            parallel = try invocation.number("parallel", in: 1...1000) ?? 32
            devices = try invocation.number("devices", in: 1...15_000) ?? 50
            server = try BenchOptions.server(invocation)
            resumes = invocation.has("resume")
            isJSON = invocation.wantsJSON
        }
    }

    private static func load(
        _ destination: Destination,
        caPEM: [UInt8]?,
        identities: [CourierIdentity],
        _ options: Options
    ) throws(CommandError) -> ConnectLoad {
        try measured { () throws(LoadError) in
            try ConnectLoad(to: destination, caPEM: caPEM, identities: identities, parallel: options.parallel)
        }
    }

    private static func measure(_ load: ConnectLoad, warmUp: Int, _ options: Options) throws(CommandError) -> Outcome {
        let result = try measured { () throws(LoadError) in
            _ = try load.run(count: warmUp)
            return try load.run(count: options.count, server: options.server)
        }
        BenchReport(load: "connects", result: result).show(json: options.isJSON)
        return result.unanswered == 0 ? .done : .failed
    }
}
