import Testing

@testable import carillon

@Suite struct RequestTests {
    private func invocation(_ line: String) throws -> Invocation {
        let words = line.split(separator: " ").map(String.init)
        guard case .run(let invocation) = try Request(words) else { throw CommandError.usage("that is help") }
        return invocation
    }

    private func mistake(_ line: String) -> String? {
        let words = line.split(separator: " ").map(String.init)
        return #expect(throws: CommandError.self) { try Request(words) }?.message
    }

    private func helpTopic(_ line: String) throws -> String? {
        let words = line.split(separator: " ").map(String.init)
        guard case .help(let topic) = try Request(words) else { return nil }
        return topic
    }

    @Test func `options may stand anywhere after the command's name`() throws {
        let invocation = try invocation("app add --team DEMOTEAM01 com.example.a --broadcast --json")
        #expect(invocation.command.name == "app add")
        #expect(invocation.arguments == ["com.example.a"])
        #expect(invocation.value("team") == "DEMOTEAM01")
        #expect(invocation.has("broadcast") && invocation.wantsJSON)
    }

    @Test func `an equals sign and a blank are the same`() throws {
        let invocation = try invocation("serve --set=a=1 --set b=2 --config=x")
        #expect(invocation.all("set") == ["a=1", "b=2"])
        #expect(invocation.value("config") == "x")
    }

    @Test func `what follows two dashes is no option`() throws {
        #expect(try invocation("app remove -- --odd").arguments == ["--odd"])
    }

    @Test func `a dash alone is a value`() throws {
        #expect(try invocation("send --topic a --token b --payload -").value("payload") == "-")
    }

    @Test(arguments: [
        ("sned", "no command \"sned\"; did you mean send?"),
        ("app lits", "no command \"app lits\"; did you mean app list?"),
        ("send --topc a", "send has no option --topc; did you mean --topic?"),
        ("app list --jsno", "app list has no option --jsno; did you mean --json?"),
    ])
    func `a typo suggests the nearest`(_ line: String, _ message: String) {
        #expect(mistake(line) == message)
    }

    @Test(arguments: [
        ("", "say what to do"), ("app", "say app add, app list, app remove"), ("init", "init needs --directory D"),
        ("app add --team T", "app add needs BUNDLE"), ("app remove a b", "app remove does not take \"b\""),
        ("init --directory", "--directory needs a value"), ("init --directory --json", "--directory needs a value"),
        ("init --directory a --directory b", "--directory was given twice"), ("app list --json=1", "takes no value"),
    ])
    func `wrong usage is named`(_ line: String, _ part: String) {
        #expect(mistake(line)?.contains(part) == true)
    }

    @Test(arguments: [
        ("help", ""), ("--help", ""), ("-h", ""), ("help app", "app"), ("help app add", "app add"),
        ("app --help", "app"), ("app add --help", "app add"), ("send --topic x --help", "send"), ("init -h", "init"),
    ])
    func `help is found wherever it is asked for`(_ line: String, _ topic: String) throws {
        #expect(try helpTopic(line) == topic)
    }

    @Test func `numbers and words are checked against what is allowed`() throws {
        let invocation = try invocation("init --directory d --admin-port 70000 --environment prod")
        #expect(throws: CommandError.usage("--admin-port must be a whole number from 0 to 65535")) {
            try invocation.number("admin-port", in: 0...65_535)
        }
        #expect(throws: CommandError.usage("--environment must be a or b, not prod")) {
            try invocation.choice("environment", of: ["a", "b"])
        }
    }
}
