import Foundation
import Testing

/// The threat model names bounds and tests that are there: a claim without either is a hope.
@Suite struct ThreatModelTests {
    private static let path = "docs/threat-model.md"
    private let document: SourceFile

    init() throws {
        document = try #require(SourceFile.written.first { $0.path == Self.path })
    }

    @Test func `every threat has a bound and a test that shows it`() throws {
        let rows = threats()
        #expect(rows.count > 50)
        for row in rows {
            if try row.bound.isEmpty || tests(in: row.shownBy).isEmpty {
                Issue.record("\(row.threat): no bound, or no test that shows it")
            }
        }
    }

    @Test func `every test that is named is there`() throws {
        for test in try tests(in: document.text) where !Self.isThere(test.file, test.name) {
            Issue.record("there is no \(test.file)::\(test.name)")
        }
    }

    @Test func `a threat stands once`() {
        let threats = threats().map(\.threat)
        #expect(Set(threats).count == threats.count)
    }

    @Test func `every bound that is named has its place in the source`() throws {
        let names = try groups(of: #"\[`([A-Z][A-Za-z0-9.]*)\.([a-z][A-Za-z0-9]*)`\]\[([A-Za-z0-9]+)\]"#)
        #expect(!names.isEmpty)
        let places = try places()
        for name in names {
            let source = places[name[2]].flatMap { path in SourceFile.swift.first { $0.path == path } }
            let lines = try source?.lines(matching: "\\b(?:let|var) \\(?.*\\b\(name[1])\\b", in: \.code)
            if lines?.isEmpty ?? true {
                Issue.record("there is no \(name[0]).\(name[1]) in \(places[name[2]] ?? "any source file")")
            }
        }
    }

    @Test func `every place is used, and every use has its place`() throws {
        let used = Set(try groups(of: #"\]\[([A-Za-z0-9]+)\]"#).map { $0[0] })
        #expect(used == Set(try places().keys))
    }

    /// A row of a table of threats.
    private struct Row {
        let threat: String
        let bound: String
        let shownBy: String
    }

    private func tests(in text: String) throws -> [(file: String, name: String)] {
        try matches(of: #"`([A-Za-z0-9_]+\.(?:swift|py))::([^`]+)`"#, in: text).map { ($0[0], $0[1]) }
    }

    private func threats() -> [Row] {
        let lines = document.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var rows: [Row] = []
        for start in lines.indices where lines[start] == "| threat | bound | test that shows it |" {
            for line in lines[(start + 2)...].prefix(while: { $0.hasPrefix("|") }) {
                let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                rows.append(Row(threat: cells[0], bound: cells.count > 1 ? cells[1] : "", shownBy: cells.last ?? ""))
            }
        }
        return rows
    }

    /// What a reference leads to: `[Limits]: ../Sources/PushCore/Limits.swift`.
    private func places() throws -> [String: String] {
        let found = try groups(of: #"(?m)^\[([A-Za-z0-9]+)\]: (?:\.\./)?(\S+)$"#)
        return Dictionary(uniqueKeysWithValues: found.map { ($0[0], $0[1]) })
    }

    private func groups(of pattern: String) throws -> [[String]] { try matches(of: pattern, in: document.text) }

    private static func isThere(_ file: String, _ name: String) -> Bool {
        let text = (SourceFile.swift + SourceFile.written).first {
            ["Tests/", "Fuzz/"].contains(where: $0.path.hasPrefix) && $0.path.hasSuffix("/\(file)")
        }?.text
        return text?.contains(file.hasSuffix(".py") ? "\ndef \(name)(" : "func `\(name)`(") == true
    }
}

/// The groups of each match of `pattern` in `text`.
private func matches(of pattern: String, in text: String) throws -> [[String]] {
    let string = text as NSString
    let whole = NSRange(location: 0, length: string.length)
    return try NSRegularExpression(pattern: pattern).matches(in: text, range: whole).map { match in
        (1..<match.numberOfRanges).map { string.substring(with: match.range(at: $0)) }
    }
}
