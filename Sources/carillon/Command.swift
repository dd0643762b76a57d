/// A command a person can type. Parsing, help and dispatch all come from `Command.all`, the table of these.
struct Command: Sendable {
    /// One or two words, as typed.
    let name: String
    let summary: String
    /// What must follow the name, in order, in capitals.
    var arguments: [String] = []
    var options: [CommandOption] = []
    /// A line to paste.
    let example: String
    let run: @Sendable (Invocation) throws(CommandError) -> Outcome

    /// The command's own options and those every command takes.
    var allOptions: [CommandOption] { options + CommandOption.everywhere }
}

/// One `--option` of a command.
struct CommandOption: Sendable {
    /// Without the dashes.
    let name: String
    /// What stands for the value in help; nil for a switch.
    let value: String?
    let help: String
    /// Whether the command needs it.
    let isRequired: Bool
    /// Whether it may be given more than once.
    let repeats: Bool

    static func value(
        _ name: String,
        _ value: String,
        _ help: String,
        required: Bool = false
    ) -> CommandOption {
        CommandOption(name: name, value: value, help: help, isRequired: required, repeats: false)
    }

    static func list(_ name: String, _ value: String, _ help: String, required: Bool = false) -> CommandOption {
        CommandOption(name: name, value: value, help: help, isRequired: required, repeats: true)
    }

    static func flag(_ name: String, _ help: String) -> CommandOption {
        CommandOption(name: name, value: nil, help: help, isRequired: false, repeats: false)
    }

    static let everywhere: [CommandOption] = [
        .flag("json", "print JSON for programs"),
        .flag("help", "print this"),
    ]

    static let config = CommandOption.value(
        "config",
        "FILE",
        "settings (default: $CARILLON_CONFIG, ./carillon.conf, /etc/carillon/carillon.conf)"
    )

    /// What every command that speaks to the running gateway takes.
    static let adminAccess: [CommandOption] = [
        config,
        .value("admin", "URL", "the gateway's admin address; its token comes from $CARILLON_ADMIN_TOKEN"),
        .value("ca", "FILE", "authority to trust for an https admin address"),
    ]
}

/// How a command ended, when nothing more is to be said; the raw value is the exit status.
enum Outcome: Int32 {
    case done = 0
    /// What was asked did not happen, and the command has printed why.
    case failed = 1
}

/// Why a command could not do what was asked.
enum CommandError: Error, Equatable {
    /// What was typed makes no sense: exit status 2.
    case usage(String)
    /// It was understood and did not work: exit status 1. `code` is for programs.
    case failed(code: String, message: String)

    var exitStatus: Int32 {
        switch self {
        case .usage: 2
        case .failed: 1
        }
    }

    var code: String {
        switch self {
        case .usage: "usage"
        case .failed(let code, _): code
        }
    }

    var message: String {
        switch self {
        case .usage(let message): message
        case .failed(_, let message): message
        }
    }
}
