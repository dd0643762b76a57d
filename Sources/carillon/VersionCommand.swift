import JSON

/// `carillon version`.
enum VersionCommand {
    /// The release this source will be.
    static let version = "0.1.0"

    static let command = Command(
        name: "version",
        summary: "print the version",
        example: "carillon version",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        if invocation.wantsJSON {
            Output.object { $0.field("version", version) }
        } else {
            Output.line("carillon \(version)")
        }
        return .done
    }
}
