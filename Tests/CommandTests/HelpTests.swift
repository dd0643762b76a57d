import Testing

@testable import carillon

@Suite struct HelpTests {
    @Test(arguments: Command.all.map(\.name))
    func `a command's help fits on a screen and ends in an example of it`(_ name: String) throws {
        let lines = help(topic: name).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 40)
        #expect(lines.allSatisfy { $0.count <= 120 })
        #expect(lines.contains { $0.hasPrefix("Example: carillon \(name)") })
    }

    @Test(arguments: Command.all.map(\.name))
    func `a command's example is understood`(_ name: String) throws {
        let command = try #require(Command.all.first { $0.name == name })
        let words = command.example.split(separator: " ").dropFirst().map { String($0.filter { $0 != "'" }) }
        guard !command.example.contains("'") else { return }  // Quoting is the shell's.
        guard case .run(let invocation) = try Request(Array(words)) else {
            Issue.record("the example asks for help")
            return
        }
        #expect(invocation.command.name == name)
    }

    @Test func `the help for everything lists every command and fits on a screen`() {
        let text = help(topic: "")
        for command in Command.all { #expect(text.contains("\n  \(command.name) ")) }
        #expect(text.split(separator: "\n").count <= 45)
    }

    @Test func `a group's help lists its commands only`() {
        let text = help(topic: "app")
        #expect(text.contains("app add") && text.contains("app remove") && !text.contains("key create"))
    }
}
