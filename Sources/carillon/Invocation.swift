import Gateway

/// A command line that was understood: the command, and what was typed after it.
struct Invocation: Sendable {
    let command: Command
    /// The words that are not options, as many as the command wants.
    private(set) var arguments: [String] = []
    private var values: [String: [String]] = [:]

    /// Reads `words`, which follow the command's name. `--name value` and `--name=value` are the same.
    init(_ command: Command, words: [String]) throws(CommandError) {
        self.command = command
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                arguments += rest
                break
            }
            if word == "-h" {
                values["help", default: []].append("")
            } else if word.hasPrefix("-"), word != "-" {
                try readOption(word, rest: &rest)
            } else {
                arguments.append(word)
            }
        }
        if !wantsHelp { try check() }
    }

    var wantsHelp: Bool { has("help") }
    var wantsJSON: Bool { has("json") }

    func has(_ option: String) -> Bool { !all(option).isEmpty }

    /// The option's value, the last if it was given more than once.
    func value(_ option: String) -> String? { all(option).last }

    /// Every value that was given for the option.
    func all(_ option: String) -> [String] {
        precondition(command.allOptions.contains { $0.name == option }, "the command has no such option")
        return values[option, default: []]
    }

    /// The value of an option that the table requires.
    func required(_ option: String) -> String {
        guard let value = value(option) else { preconditionFailure("only for required options") }
        return value
    }

    /// The option's value as a whole number within `range`.
    func number(_ option: String, in range: ClosedRange<Int>) throws(CommandError) -> Int? {
        guard let text = value(option) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .usage("--\(option) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The option's value as one of a few words.
    func choice(_ option: String, of words: [String]) throws(CommandError) -> String? {
        guard let text = value(option) else { return nil }
        guard words.contains(text) else {
            throw .usage("--\(option) must be \(words.joined(separator: " or ")), not \(text)")
        }
        return text
    }

    private mutating func readOption(_ word: String, rest: inout ArraySlice<String>) throws(CommandError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let typed = String(parts[0])
        guard let option = command.allOptions.first(where: { "--\($0.name)" == typed }) else {
            let hint = nearest(to: typed, in: command.allOptions.map { "--\($0.name)" })
            throw .usage("\(command.name) has no option \(typed)" + (hint.map { "; did you mean \($0)?" } ?? ""))
        }
        if !option.repeats, option.value != nil, values[option.name] != nil {
            throw .usage("\(typed) was given twice")
        }
        values[option.name, default: []].append(try value(of: option, inline: parts.dropFirst().first, rest: &rest))
    }

    private func value(
        of option: CommandOption,
        inline: Substring?,
        rest: inout ArraySlice<String>
    ) throws(CommandError) -> String {
        guard let placeholder = option.value else {
            if inline != nil { throw .usage("--\(option.name) takes no value") }
            return ""
        }
        if let inline { return String(inline) }
        guard let next = rest.popFirst(), !next.hasPrefix("--") else {
            throw .usage("--\(option.name) needs a value: --\(option.name) \(placeholder)")
        }
        return next
    }

    private func check() throws(CommandError) {
        if arguments.count < command.arguments.count {
            throw .usage("\(command.name) needs \(command.arguments[arguments.count]); \(synopsis(of: command))")
        }
        if arguments.count > command.arguments.count {
            let word = arguments[command.arguments.count]
            throw .usage("\(command.name) does not take \"\(word)\"; \(synopsis(of: command))")
        }
        for option in command.options where option.isRequired && values[option.name] == nil {
            let placeholder = option.value.map { " \($0)" } ?? ""
            throw .usage("\(command.name) needs --\(option.name)\(placeholder); \(synopsis(of: command))")
        }
    }
}

/// What a command line asks for.
enum Request {
    case run(Invocation)
    /// Help for everything, a group such as `app`, or one command.
    case help(topic: String)

    /// Finds the command that `words` (without the program's name) start with, and reads the rest.
    init(_ words: [String], commands: [Command] = Command.all) throws(CommandError) {
        guard let first = words.first else { throw .usage("say what to do; carillon help lists the commands") }
        switch first {
        case "help": self = try Self.helpRequest(Array(words.dropFirst()), commands: commands)
        case "--help", "-h": self = .help(topic: "")
        case "--version": self = try Request(["version"] + words.dropFirst(), commands: commands)
        default: self = try Self.command(words, commands: commands)
        }
    }

    private static func command(_ words: [String], commands: [Command]) throws(CommandError) -> Request {
        for count in [2, 1] where words.count >= count {
            let name = words.prefix(count).joined(separator: " ")
            guard let command = commands.first(where: { $0.name == name }) else { continue }
            let invocation = try Invocation(command, words: Array(words.dropFirst(count)))
            return invocation.wantsHelp ? .help(topic: name) : .run(invocation)
        }
        let group = commands.filter { $0.name.hasPrefix("\(words[0]) ") }
        guard !group.isEmpty else { throw unknown(words[0], among: commands.map(\.name)) }
        let rest = words.dropFirst().filter { $0 != "--json" }
        guard let second = rest.first else {
            throw .usage("say \(group.map(\.name).joined(separator: ", ")); carillon help \(words[0]) explains them")
        }
        if second == "--help" || second == "-h" { return .help(topic: words[0]) }
        throw unknown("\(words[0]) \(second)", among: group.map(\.name))
    }

    private static func helpRequest(_ words: [String], commands: [Command]) throws(CommandError) -> Request {
        let topic = words.filter { !$0.hasPrefix("-") }.joined(separator: " ")
        let isKnown = commands.contains { $0.name == topic || $0.name.hasPrefix("\(topic) ") }
        guard topic.isEmpty || isKnown else { throw unknown(topic, among: commands.map(\.name)) }
        return .help(topic: topic)
    }

    private static func unknown(_ typed: String, among names: [String]) -> CommandError {
        let groups = names.map { String($0.prefix { $0 != " " }) }
        let candidates = typed.contains(" ") ? names : groups
        let hint = nearest(to: typed, in: candidates + ["help"]).map { "; did you mean \($0)?" } ?? ""
        return .usage("no command \"\(typed)\"\(hint)")
    }
}
