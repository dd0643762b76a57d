import Client
import Reactor

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
                .flag("resume", "let each device offer the ticket that its last connect got, if any"),
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
