import BenchmarkSupport
import JSON

/// The floors: what the libraries below the gateway cost by themselves, called as directly as Swift allows.
///
/// Usage: `bare handshakes --cert FILE --key FILE [--port N]` is a server that only shakes hands.
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
        let options = try Options(arguments, valued: ["cert", "key", "port"])
        switch options.words {
        case ["handshakes"]: try serveHandshakes(options)
        default: throw OptionError("say handshakes")
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
}
