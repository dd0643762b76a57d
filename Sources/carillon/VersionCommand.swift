import Gateway
import JSON

/// `carillon version`.
enum VersionCommand {
    static let command = Command(
        name: "version",
        summary: "print the version",
        example: "carillon version",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        if invocation.wantsJSON {
            Output.object { $0.field("version", Version.text) }
        } else {
            Output.line("carillon \(Version.text)")
        }
        return .done
    }
}
