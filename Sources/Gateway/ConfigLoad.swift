/// Where a setting came from.
package enum ConfigSource: Equatable, Sendable {
    case standard
    case file(line: Int)
    case environment(String)
    case override(String)

    /// The source as an operator knows it; `file` is the settings file's name.
    package func described(file: String) -> String {
        switch self {
        case .standard: "default"
        case .file(let line): "\(file):\(line)"
        case .environment(let name): name
        case .override(let text): "--set \(text)"
        }
    }
}

/// One mistake in the settings.
package struct ConfigProblem: Equatable, Sendable {
    /// Where the mistake stands.
    package let source: ConfigSource
    /// What is wrong and what would be right.
    package let message: String
}

/// Every mistake in the settings, at once.
package struct ConfigError: Error, Equatable {
    /// At least one.
    package let problems: [ConfigProblem]

    /// One line per mistake: where it stands and what to do.
    package func lines(file: String) -> [String] {
        problems.map { "\($0.source.described(file: file)): \($0.message)" }
    }
}

/// Settings and where each came from.
package struct LoadedConfig: Sendable {
    /// The settings in force.
    package private(set) var config = Config()
    private var sources: [String: ConfigSource] = [:]
    private var problems: [ConfigProblem] = []

    /// Reads the file's text, then variables, then `KEY=VALUE` overrides, each over the one before.
    package init(fileText: String, environment: [String: String], overrides: [String]) throws(ConfigError) {
        readFile(fileText)
        readEnvironment(environment)
        for text in overrides { readOverride(text) }
        checkRelations()
        guard problems.isEmpty else { throw ConfigError(problems: problems) }
    }

    /// Where the setting's value came from.
    package func source(of name: String) -> ConfigSource { sources[name] ?? .standard }

    /// Whether the file sets anything.
    package var hasFileSettings: Bool {
        sources.values.contains { if case .file = $0 { true } else { false } }
    }

    /// What `--print-config` prints: a settings file with each value's source beside it.
    package func printed(file: String, cores: Int) -> String {
        let resolved = config.resolved(cores: cores)
        let lines = Config.keys.map { (text: "\($0.name) = \($0.shown(resolved))", source: source(of: $0.name)) }
        let width = lines.map(\.text.count).max() ?? 0
        return lines.map { line in
            let padding = String(repeating: " ", count: width - line.text.count)
            return "\(line.text)\(padding)  # \(line.source.described(file: file))\n"
        }.joined()
    }

    /// A line is empty, a comment, or `key = value`; a comment may follow. The last line for a key counts, as in
    /// redis.conf and postgresql.conf.
    private mutating func readFile(_ text: String) {
        // Not "\n": of a file from Windows "\r\n" is one character, and all of it would be one comment.
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, raw) in lines.enumerated() {
            let line = trimmed(withoutComment(String(raw)))
            guard !line.isEmpty else { continue }
            apply(line, from: .file(line: index + 1))
        }
    }

    private mutating func readOverride(_ text: String) { apply(text, from: .override(text)) }

    private mutating func apply(_ line: String, from source: ConfigSource) {
        guard let equals = line.firstIndex(of: "=") else {
            problems.append(ConfigProblem(source: source, message: "expected key = value, found \"\(line)\""))
            return
        }
        let name = trimmed(String(line[..<equals]))
        let value = trimmed(String(line[line.index(after: equals)...]))
        guard let key = Config.key(named: name) else {
            problems.append(ConfigProblem(source: source, message: unknown(name, among: Config.keys.map(\.name))))
            return
        }
        set(key, to: value, from: source)
    }

    /// Only `CARILLON_*` is ours; of it `CARILLON_CONFIG` and `CARILLON_ADMIN_TOKEN` are no settings.
    private mutating func readEnvironment(_ environment: [String: String]) {
        let notSettings = ["CARILLON_CONFIG", "CARILLON_ADMIN_TOKEN"]
        let names = Config.keys.map(\.environmentName)
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("CARILLON_") {
            if notSettings.contains(name) { continue }
            if let index = names.firstIndex(of: name) {
                set(Config.keys[index], to: trimmed(value), from: .environment(name))
            } else {
                let message = unknown(name, among: names + notSettings)
                problems.append(ConfigProblem(source: .environment(name), message: message))
            }
        }
    }

    private mutating func set(_ key: ConfigKey, to value: String, from source: ConfigSource) {
        guard !value.isEmpty, key.set(&config, value) else {
            let message = "\(key.name) cannot be \"\(value)\"; it must be \(key.expected)"
            problems.append(ConfigProblem(source: source, message: message))
            return
        }
        sources[key.name] = source
    }

    private mutating func checkRelations() {
        guard !config.adminTLS, !isLoopback(config.adminHost) else { return }
        let message = "admin.host = \(config.adminHost) is not loopback and needs admin.tls = on"
        problems.append(ConfigProblem(source: source(of: "admin.host"), message: message))
    }
}

extension Config {
    /// Reads settings from the file's text, variables and `KEY=VALUE` overrides; throws every mistake at once.
    package static func load(
        fileText: String,
        environment: [String: String] = [:],
        overrides: [String] = []
    ) throws(ConfigError) -> Config {
        try LoadedConfig(fileText: fileText, environment: environment, overrides: overrides).config
    }

    /// The settings file of a new instance: every setting with its reason and default, those in `values` set.
    package static func fileText(values: [String: String]) -> String {
        var text = """
            # Settings of a Carillon instance. Each stands here with its default, commented out.
            # Durations: 250ms 30s 5m 2h 30d. Paths are relative to this file. A variable overrides a line
            # (provider.port is CARILLON_PROVIDER_PORT), `carillon serve --set KEY=VALUE` overrides both.
            # `carillon serve --print-config` shows what is in force and where it came from.

            """
        for key in keys {
            text += "\n"
            for line in wrapped(comment(for: key), width: 110) { text += "# \(line)\n" }
            if let value = values[key.name] {
                text += "\(key.name) = \(value)\n"
            } else {
                text += "# \(key.name) = \(key.defaultText)\n"
            }
        }
        return text
    }

    private static func comment(for key: ConfigKey) -> String {
        let zero = key.zero.map { " 0 is \($0)." } ?? ""
        return "\(key.reason) Must be \(key.expected).\(zero)"
    }
}

/// Whether the host names this machine only.
package func isLoopback(_ host: String) -> Bool {
    let isAddress = host.allSatisfy { $0 == "." || $0.isASCII && $0.isNumber }
    return ["localhost", "::1", "[::1]"].contains(host) || host.hasPrefix("127.") && isAddress
}

private func unknown(_ name: String, among names: [String]) -> String {
    let hint = nearest(to: name, in: names).map { "; did you mean \($0)?" } ?? ""
    return "unknown setting \(name)\(hint)"
}

/// A `#` starts a comment at the start of the line or after a blank, so that a value may hold one.
private func withoutComment(_ line: String) -> String {
    var previous: Character = " "
    for index in line.indices {
        if line[index] == "#", previous.isWhitespace { return String(line[..<index]) }
        previous = line[index]
    }
    return line
}

/// Breaks text between words so that no line is longer than `width`.
private func wrapped(_ text: String, width: Int) -> [String] {
    var lines = [""]
    for word in text.split(separator: " ") {
        let last = lines[lines.count - 1]
        if last.isEmpty {
            lines[lines.count - 1] = String(word)
        } else if last.count + 1 + word.count <= width {
            lines[lines.count - 1] += " \(word)"
        } else {
            lines.append(String(word))
        }
    }
    return lines
}
