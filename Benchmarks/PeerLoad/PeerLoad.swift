import BenchmarkSupport
import JSON

/// The load for the servers that Carillon is measured beside (`Benchmarks/peers` starts them).
///
/// Usage:
/// - `peerload mqtt|nats|jetstream|nchan --to HOST:PORT [options of LoadOptions]` publishes and receives, and prints
///   what it measured.
/// - `peerload sessions mqtt|nats --to HOST:PORT --count N` connects idle subscribers, says when they are connected,
///   and holds them until its standard input ends.
@main
enum PeerLoad {
    static func main() {
        do {
            try run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Terminal.fail("peerload", error)
        }
    }

    private static func run(_ arguments: [String]) throws {
        let options = try Options(arguments, valued: LoadOptions.valued, flags: LoadOptions.flags)
        let load = try LoadOptions(options)
        switch options.words {
        case ["mqtt"]: try measure(MQTTConversation.self, load, "mqtt")
        case ["nats"]: try measure(NATSConversation.self, load, "nats")
        case ["jetstream"]: try measure(JetStreamConversation.self, load, "jetstream")
        case ["nchan"]: try measure(NchanConversation.self, load, "nchan")
        case ["sessions", "mqtt"]: try hold(MQTTConversation.self, load)
        case ["sessions", "nats"]: try hold(NATSConversation.self, load)
        default: throw OptionError("say mqtt, nats, jetstream or nchan, or sessions and mqtt or nats")
        }
    }

    private static func measure<Talk: Conversation>(_: Talk.Type, _ load: LoadOptions, _ name: String) throws {
        let result = try LoadRun<Talk>(load).run()
        if load.json {
            Terminal.object(result.members(name, load))
        } else {
            result.lines(name, load).forEach(Terminal.line)
        }
        if result.delivered != load.count { throw OptionError("\(load.count - result.delivered) messages were lost") }
    }

    private static func hold<Talk: Conversation>(_: Talk.Type, _ load: LoadOptions) throws {
        let fleet = try PeerFleet<Talk>(load, publishers: 0, subscribers: load.count)
        try fleet.connect()
        Terminal.object([("event", .string("ready")), ("sessions", .integer(Int64(fleet.readyCount)))])
        while !Terminal.inputHasEnded() { try fleet.turn(nanoseconds: 100_000_000) { _, _, _ in } }
    }
}
