import BenchmarkSupport
import JSON

/// The floors: what the libraries below the gateway cost by themselves, called as directly as Swift allows.
///
/// Usage:
/// - `bare handshakes --cert FILE --key FILE [--port N]` is a server that shakes hands, writes a byte and waits for the
///   client to leave.
/// - `bare inserts FILE [--count N] [--payload BYTES] [--batch N]` makes a store and inserts pushes, and prints
///   rows per second.
/// - `bare scan FILE [--cold]` reads a gateway's store as its start does, and prints seconds; the
///   gateway must not run. The file is read into the page cache first, or thrown out of it.
/// - `bare fill FILE [--count N] [--payload BYTES] [--per-device N]` queues pushes in a gateway's store.
/// - `bare forget FILE` throws a store out of the page cache, for a cold start of the gateway.
///
/// With `--json` inserts and scan print an object instead.
@main
enum Bare {
    static func main() {
        do {
            try run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Terminal.fail("bare", error)
        }
    }

    private static func run(_ arguments: [String]) throws {
        let valued: Set<String> = ["cert", "key", "port", "count", "payload", "batch", "per-device"]
        let options = try Options(arguments, valued: valued, flags: ["cold", "json"])
        let file = options.words.count == 2 ? options.words[1] : ""
        switch (options.words.first, file.isEmpty) {
        case ("handshakes", true): try serveHandshakes(options)
        case ("inserts", false): try insert(into: file, options)
        case ("scan", false): try Scan(file: file, isCold: options.has("cold"), json: options.has("json")).run()
        case ("fill", false): try fill(file, options)
        case ("forget", false): try PageCache.drop(file)
        default: throw OptionError("say handshakes, or inserts, scan, fill or forget and a file")
        }
    }

    private static func serveHandshakes(_ options: Options) throws {
        let server = try HandshakeServer(
            certificate: try options.required("cert"),
            key: try options.required("key"),
            port: UInt16(try options.number("port", 0, in: 0...65_535))
        )
        Terminal.object([("event", .string("ready")), ("port", .integer(Int64(server.port)))])
        try server.run()
    }

    private static func insert(into file: String, _ options: Options) throws {
        let inserts = Inserts(
            file: file,
            count: try options.number("count", 1_000_000, in: 1...100_000_000),
            payload: try options.number("payload", 1024, in: 1...4096),
            batch: try options.number("batch", 2000, in: 1...1_000_000),
            json: options.has("json")
        )
        try inserts.run()
    }

    private static func fill(_ file: String, _ options: Options) throws {
        let envelope = #"{"aps":{"alert":""}}"#
        let payload = try options.number("payload", 1024, in: envelope.utf8.count...4096)
        let padding = String(repeating: "x", count: payload - envelope.utf8.count)
        let fill = Fill(
            file: file,
            count: try options.number("count", 1_000_000, in: 1...100_000_000),
            payload: Array(#"{"aps":{"alert":"\#(padding)"}}"#.utf8),
            perDevice: try options.number("per-device", 50, in: 1...1000)
        )
        try fill.run()
    }
}
