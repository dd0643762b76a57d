@testable import Gateway

/// A settings file, with variables and overrides behind it: what is taken is within its bounds and can be written and
/// read again, what is refused is refused for a reason that stands on a line. Zero bytes part the file from what
/// follows; `$NAME=VALUE` is a variable, anything else an override.
func fuzzConfig(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    let parts = text.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
    let (file, others) = (parts[0], parts.dropFirst())
    var variables: [String: String] = [:]
    for variable in others where variable.hasPrefix("$") {
        let sides = variable.dropFirst().split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        variables[String(sides[0])] = sides.count == 2 ? String(sides[1]) : ""
    }
    let overrides = others.filter { !$0.hasPrefix("$") }

    let loaded = outcome(file, variables, overrides)
    precondition(loaded.problems == outcome(file, variables, overrides).problems, "another verdict")
    guard let loaded = loaded.value else { return check(loaded.problems, of: file) }
    checkBounds(loaded.config)
    if others.isEmpty {
        checkWritten(loaded)
        checkLines(loaded, file)
    }
}

private func outcome(
    _ file: String,
    _ variables: [String: String] = [:],
    _ overrides: [String] = []
) -> (value: LoadedConfig?, problems: [ConfigProblem]) {
    do {
        return (try LoadedConfig(fileText: file, environment: variables, overrides: overrides), [])
    } catch {
        return (nil, error.problems)
    }
}

private func check(_ problems: [ConfigProblem], of file: String) {
    precondition(!problems.isEmpty, "refused without a reason")
    let lines = file.utf8.count { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } + 1
    for problem in problems {
        precondition(!problem.message.isEmpty, "a problem without a word")
        if case .file(let line) = problem.source {
            precondition((1...max(lines, file.count + 1)).contains(line), "a problem on no line")
        }
    }
}

/// A value that is in force is one that could be written.
private func checkBounds(_ config: Config) {
    for key in Config.keys {
        var copy = config
        precondition(key.set(&copy, key.shown(config)) && copy == config, "\(key.name) is out of bounds")
    }
}

/// What `--print-config` shows, and what `init` would write, are the same settings.
private func checkWritten(_ loaded: LoadedConfig) {
    let resolved = loaded.config.resolved(cores: 8)
    let printed = outcome(loaded.printed(file: "carillon.conf", cores: 8))
    precondition(printed.value?.config == resolved, "what is printed are other settings")
    let values = Config.keys.map { ($0.name, $0.shown(resolved)) }
    let written = outcome(Config.fileText(values: Dictionary(uniqueKeysWithValues: values)))
    precondition(written.value?.config == resolved, "what is written are other settings")
}

/// Of a plain file the last line that names a setting is the one that counts, whatever ends the lines.
private func checkLines(_ loaded: LoadedConfig, _ file: String) {
    guard file.utf8.allSatisfy({ (32..<127).contains($0) || $0 == 9 || $0 == 10 || $0 == 13 }) else { return }
    var last: [String: Int] = [:]
    for (index, raw) in file.utf8.split(separator: 10, omittingEmptySubsequences: false).enumerated() {
        let line = raw.last == 13 ? raw.dropLast() : raw
        // A carriage return on its own is an end of line as well; files with one are not looked at.
        if line.contains(13) { return }
        let name = String(decoding: line.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
        if line.contains(UInt8(ascii: "=")) { last[trimmed(name)] = index + 1 }
    }
    for key in Config.keys {
        let expected = last[key.name].map { ConfigSource.file(line: $0) } ?? .standard
        precondition(loaded.source(of: key.name) == expected, "\(key.name) comes from another line")
    }
}
