import Glibc
import Reactor

/// The program: finds the command, runs it, and turns how it ended into the exit status.
@main
enum Carillon {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        // Before all else: a signal that comes while a gateway starts must not end it.
        if words.first == ServeCommand.command.name { Signals.holdBack() }
        // What the program makes is its user's alone, whatever the shell says.
        umask(0o077)
        Machine.openStandardStreams()
        do throws(CommandError) {
            exit(try run(words).rawValue)
        } catch {
            Output.error(error, json: words.contains("--json"))
            exit(error.exitStatus)
        }
    }

    private static func run(_ words: [String]) throws(CommandError) -> Outcome {
        switch try Request(words) {
        case .help(let topic):
            Output.line(help(topic: topic))
            return .done
        case .run(let invocation):
            return try invocation.command.run(invocation)
        }
    }
}
