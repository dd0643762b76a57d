/// The help for everything (`""`), a group of commands, or one command.
func help(topic: String, commands: [Command] = Command.all) -> String {
    if let command = commands.first(where: { $0.name == topic }) { return help(for: command) }
    let shown = topic.isEmpty ? commands : commands.filter { $0.name.hasPrefix("\(topic) ") }
    let title = topic.isEmpty ? "carillon: a push gateway" : "carillon \(topic)"
    var text = "\(title)\n\n"
    for command in shown { text += "  \(padded(command.name, to: 22))\(command.summary)\n" }
    text +=
        "\ncarillon help COMMAND explains one. Every command takes --help and --json. "
        + "Exit status: 0 done, 1 failed, 2 wrong usage.\n"
    if topic.isEmpty {
        text += "\nExample: carillon init --directory instance && carillon serve --config instance/carillon.conf\n"
    }
    return text
}

/// How a command is typed, on one line.
func synopsis(of command: Command) -> String {
    var words = ["usage: carillon \(command.name)"] + command.arguments
    for option in command.options {
        let typed = "--\(option.name)" + (option.value.map { " \($0)" } ?? "") + (option.repeats ? " ..." : "")
        words.append(option.isRequired ? typed : "[\(typed)]")
    }
    return words.joined(separator: " ")
}

private func help(for command: Command) -> String {
    var text = "\(command.summary)\n\n"
    text += "usage: carillon \(([command.name] + command.arguments).joined(separator: " ")) [options]\n\n"
    for option in command.allOptions {
        let typed = "--\(option.name)" + (option.value.map { " \($0)" } ?? "")
        let note = (option.isRequired ? " (needed)" : "") + (option.repeats ? " (may be repeated)" : "")
        text += "  \(padded(typed, to: 26))\(option.help)\(note)\n"
    }
    return text + "\nExample: \(command.example)\n"
}

/// `text` with blanks after it up to `width`, and at least one.
func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
}
