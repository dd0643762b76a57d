import Client
import Gateway
import Glibc
import JSON
import PushCore
import Reactor
import TLS

/// `carillon bench requests|pushes|connects|sessions|clean`: the load generator.
enum BenchCommands {
    static let all: [Command] = [
        Command(
            name: "bench requests",
            summary: "measure requests at the provider port, or at any HTTP/2 server",
            options: [
                .value("to", "HOST:PORT", "the server (default: the instance's); its certificate is not verified"),
                .value("tokens", "FILE", "device tokens, one per line (default: 200 random ones)"),
                .value("status", "N", "what every answer must be (default 200)"),
            ] + pushing + common,
            example: "carillon bench requests --tokens tokens --count 200000",
            run: BenchRequests.run
        ),
        Command(
            name: "bench pushes",
            summary: "measure pushes from the provider to acknowledging devices",
            options: [
                .value("devices", "N", "devices to push to (default 200)"),
                .flag("offline", "let the devices leave first, so that pushes are stored"),
                .value("tokens-out", "FILE", "write the devices' tokens there, one per line"),
            ] + pushing + common,
            example: "carillon bench pushes --devices 200 --count 200000",
            run: BenchPushes.run
        ),
        Command(
            name: "bench connects",
            summary: "measure devices that connect and leave",
            options: [
                .value("count", "N", "connects (default 2000)"),
                .value("parallel", "N", "connects at a time (default 32)"),
                .value("devices", "N", "devices that do it in turn (default 50)"),
                .value("bare", "HOST:PORT", "TCP and TLS alone, with a server that sends a byte after its handshake"),
            ] + common,
            example: "carillon bench connects --count 2000",
            run: BenchConnects.run
        ),
        Command(
            name: "bench sessions",
            summary: "hold idle devices until standard input ends",
            options: [.value("count", "N", "devices (default 1000)"), CommandOption.config],
            example: "carillon bench sessions --count 1000",
            run: BenchSessions.run
        ),
        Command(
            name: "bench clean",
            summary: "remove the devices that were made for benches",
            options: [CommandOption.config],
            example: "carillon bench clean",
            run: BenchDevices.clean
        ),
    ]

    private static let pushing: [CommandOption] = [
        .value("count", "N", "requests that are measured (default 100000; offline 10000)"),
        .value("warm-up", "N", "requests before that (default a tenth)"),
        .value("connections", "N", "provider connections (default 10)"),
        .value("in-flight", "N", "unanswered requests per connection (default 100)"),
        .value("payload", "BYTES", "size of each payload (default 1024)"),
        .value("rate", "R", "requests per second, sent as planned; without it the next waits for an answer"),
    ]

    private static let common: [CommandOption] = [
        .value("server", "PID", "the process whose CPU time is to be told"),
        CommandOption.config,
    ]
}

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

/// The instance a load is for, and what its running gateway says.
struct BenchGateway {
    let instance: Instance
    let admin: AdminGateway
    let target: PushTarget

    init(_ invocation: Invocation) throws(CommandError) {
        instance = try Instance.require(invocation)
        admin = try AdminGateway(instance)
        guard
            let target = PushTarget(apps: try admin.items("/v1/apps"), keys: try admin.items("/v1/keys"), instance)
        else {
            throw .failed(code: "no_key", message: "no app whose team has a key in \(instance.keysDirectory)")
        }
        self.target = target
    }

    var authorityPEM: [UInt8] { get throws(CommandError) { try Files.read(instance.authorityPath) } }

    /// Where a provider connects.
    func provider() throws(CommandError) -> (host: String, port: UInt16) {
        let url = try instance.providerURL()
        return try address(String(url.dropFirst("https://".count)), "provider.host")
    }

    /// Where a device connects.
    func device() throws(CommandError) -> (host: String, port: UInt16) {
        try address(instance.deviceAddress(), "device.host")
    }

    /// A fleet of the first devices, connected, each with its token.
    func fleet(_ count: Int) throws(CommandError) -> CourierFleet {
        Machine.raiseOpenFileLimit()
        let limit = Machine.openFileLimit().hard
        guard count + 100 <= limit else {
            throw .failed(code: "open_files", message: "\(count) devices need as many open files; \(limit) are allowed")
        }
        let identities = try BenchDevices(instance, admin).identities(count)
        let (host, port) = try device()
        var settings = CourierFleetConfiguration(
            host: host,
            port: port,
            caPEM: try authorityPEM,
            topic: target.topic
        )
        settings.keepAliveMinutes = 15
        do throws(CourierError) {
            let fleet = try CourierFleet(configuration: settings, identities: identities)
            // A handshake takes a millisecond of each side; a slow machine gets twenty.
            guard try fleet.connect(timeoutSeconds: 60 + Double(count) / 50) else {
                let reason = fleet.lastFailure.map { ": \($0)" } ?? ""
                throw CourierError.system("only \(fleet.readyCount) of \(count) devices connected\(reason)")
            }
            return fleet
        } catch {
            throw .failed(code: "devices", message: error.description)
        }
    }

    private func address(_ text: String, _ setting: String) throws(CommandError) -> (host: String, port: UInt16) {
        guard let parts = hostAndPort(text) else {
            throw .failed(code: "config", message: "\(setting) is no address to connect to")
        }
        return parts
    }
}

/// Runs a load; its failure becomes the command's.
func measured<Result: ~Copyable>(_ load: () throws(LoadError) -> Result) throws(CommandError) -> Result {
    do { return try load() } catch { throw .failed(code: "load", message: error.description) }
}

/// Looks a server up.
func destination(_ host: String, _ port: UInt16) throws(CommandError) -> Destination {
    do throws(SystemError) {
        return try Destination(host: host, port: port)
    } catch {
        throw .failed(code: "unreachable", message: "\(host): \(error)")
    }
}
