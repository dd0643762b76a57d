import Foundation
import Gateway
import HTTP2
import PushCore
import TLS
import Testing

/// The documents say what the tables in the source say. A test that fails prints the rows to write.
@Suite struct DocumentationTests {
    private let provider = Document("docs/provider-api.md")
    private let operations = Document("docs/operations.md")

    @Test func `every reason stands with its status in the provider API`() {
        let wanted = Rejection.allCases.map { ["\($0.status)", $0.rawValue] }
        expect(provider.rows(under: "Reasons"), columns: [0, 1], are: wanted)
    }

    @Test func `the limits of a request are those of the source`() {
        let wanted = [
            ["payload", "\(Limits.payload)"], ["VoIP payload", "\(Limits.voipPayload)"],
            ["apns-collapse-id", "\(Limits.collapseID)"], ["apns-topic", "\(Limits.topic)"],
            ["authorization", "\(Limits.authorization)"], ["device token", "\(DeviceToken.countLimit)"],
            ["header list", Document.value(of: "headerListBytes", in: "Sources/HTTP2/HTTP2Limits.swift")],
            ["streams", Document.value(of: "enforcedStreams", in: "Sources/HTTP2/HTTP2Limits.swift")],
        ]
        expect(provider.rows(under: "Limits"), columns: [0, 1], are: wanted)
    }

    @Test func `a number that operators are told is the source's`() {
        let table = "Sources/Admin/ConnectionTable.swift"
        let span = Limits.deviceFaultSpan.milliseconds / 60_000
        let farewellsPerSecond = Limits.farewellsPerTick * 1000 / Int(Limits.drainTick.milliseconds)
        let told = [
            "holds fewer than \(Limits.adminTokenMinimum) characters",
            "Past \(Document.value(of: "places", in: table)) connections",
            "at most \(Document.value(of: "followers", in: table)) may follow the log",
            "and \(Limits.drainNotice.milliseconds) ms later one with the last stream",
            "leave at \(farewellsPerSecond / 1000),000 a second",
            "beyond \(Limits.logLinesPerSecond) lines a second",
            "the \(Limits.rememberedNonces) newest of the device",
            "in \(Limits.deviceFaults) sessions within \(span) minutes",
            "refused for \(Limits.quarantine.milliseconds / 60_000) minutes",
        ]
        for words in told where !operations.words.contains(words) {
            Issue.record("docs/operations.md does not say: \(words)")
        }
        #expect(
            Document("docs/device-protocol.md").words.contains("the last \(Limits.rememberedNonces) in ten minutes")
        )
    }

    @Test func `every setting stands with its default, values and reason`() {
        let wanted = Config.keys.map { key in
            let values = key.bounds.map { "\($0.minimum) to \($0.maximum)" } ?? key.expected
            return [key.name, key.defaultText, values, key.zero ?? "", key.reason]
        }
        expect(operations.rows(under: "Settings"), columns: [0, 1, 2, 3, 4], are: wanted)
    }

    @Test func `what a reload takes is said of each setting`() {
        let wanted = Config.keys.filter(\.isLive).map { [$0.name] }
        expect(operations.rows(under: "What a reload takes"), columns: [0], are: wanted)
    }

    @Test func `every metric stands with its kind and meaning`() {
        let wanted = MetricName.allCases.map { [$0.rawValue, $0.kind.rawValue, $0.help] }
        expect(operations.rows(under: "Metrics"), columns: [0, 1, 3], are: wanted)
    }

    @Test func `every certificate's life stands with its reason`() {
        let wanted = CertificateLife.allCases.map { [$0.rawValue, "\($0.days)", $0.reason] }
        expect(operations.rows(under: "Lifetimes"), columns: [0, 1, 2], are: wanted)
    }

    @Test func `every result that a metric counts is explained`() {
        let handshakes = Metrics.Handshake.allCases.map { [$0.rawValue] }
        expect(operations.rows(under: "How a device's opening ends"), columns: [0], are: handshakes)
        let verifications = Metrics.Verification.allCases.map { [$0.rawValue] }
        expect(operations.rows(under: "How a provider token is judged"), columns: [0], are: verifications)
        let abuses = HTTP2Abuse.allCases.map { [$0.rawValue] }
        expect(operations.rows(under: "How abuse of HTTP/2 is met"), columns: [0], are: abuses)
        let lints = ProviderLint.allCases.map { [$0.rawValue] }
        expect(operations.rows(under: "What is odd about a provider"), columns: [0], are: lints)
        let refusals = Metrics.Refused.allCases.map { [$0.rawValue] }
        expect(operations.rows(under: "Why a connection is refused"), columns: [0], are: refusals)
    }

    @Test func `every delivery state and cause is explained`() {
        let states = DeliveryState.allCases.map { [$0.rawValue, $0.isFinal ? "yes" : "no"] }
        expect(operations.rows(under: "Delivery states"), columns: [0, 1], are: states)
        let causes = DiscardCause.allCases.map {
            [$0.rawValue, $0.state(stored: false).rawValue, $0.state(stored: true).rawValue]
        }
        expect(operations.rows(under: "Discard causes"), columns: [0, 1, 2], are: causes)
    }

    @Test func `every log message stands with its level and fields`() throws {
        let wanted = try LogCall.all().map { [$0.level, $0.message, $0.fields.sorted().joined(separator: ", ")] }
        #expect(!wanted.isEmpty)
        let rows = operations.rows(under: "Log messages").map { Array($0.prefix(3)) }
        for row in wanted where !rows.contains(row) { Issue.record("docs/operations.md lacks \(markdown([row]))") }
        for row in rows where !wanted.contains(row) { Issue.record("no source logs \(markdown([row]))") }
    }

    @Test(arguments: Document.all)
    func `what a document names is there`(_ document: Document) throws {
        let sources = Set(Document.paths(in: "Sources").map { ($0 as NSString).lastPathComponent })
        for name in try document.matches(#"`([A-Z][A-Za-z0-9+]*\.swift)`"#) where !sources.contains(name) {
            Issue.record("\(document.path): there is no \(name)")
        }
        let settings = try document.matches(#"`((?:provider|device|queue|delivery|limits|drain|log|tls)\.[a-zA-Z]+)`"#)
        for name in settings where Config.key(named: name) == nil && !Document.isFile(name) {
            Issue.record("\(document.path): there is no setting \(name)")
        }
        let folder = (document.path as NSString).deletingLastPathComponent
        for link in try document.matches(#"\]\(([^):#]+)(?:#[^)]*)?\)"#) where !Document.isFile("\(folder)/\(link)") {
            Issue.record("\(document.path): the link \(link) leads nowhere")
        }
    }

    private func expect(_ rows: [[String]], columns: [Int], are wanted: [[String]]) {
        let found = rows.map { row in columns.map { $0 < row.count ? row[$0] : "" } }
        for row in wanted where !found.contains(row) { Issue.record("a row is missing: \(markdown([row]))") }
        for row in found where !wanted.contains(row) { Issue.record("a row is of no use: \(markdown([row]))") }
        #expect(found.count == wanted.count, "a row stands twice")
    }

    private func markdown(_ rows: [[String]]) -> String {
        rows.map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
    }
}

/// A text of the project.
struct Document: CustomTestStringConvertible, Sendable {
    let path: String
    let text: String

    init(_ path: String) {
        self.path = path
        // A document that is missing has no rows, which every test then says.
        text = (try? String(contentsOfFile: "\(Self.root)/\(path)", encoding: .utf8)) ?? ""
    }

    var testDescription: String { path }

    /// All of it in one line.
    var words: String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }

    /// The cells of the first table under a heading, without code marks; neither its head nor its rule.
    func rows(under heading: String) -> [[String]] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let start = lines.firstIndex(where: { $0.hasPrefix("#") && $0.hasSuffix("# \(heading)") }) else {
            return []
        }
        let table = lines[(start + 1)...].drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
        return table.dropFirst(2).map { line in
            let cells = line.replacingOccurrences(of: "\\|", with: "\u{0}").split(
                separator: "|",
                omittingEmptySubsequences: false
            )
            return cells.dropFirst().dropLast().map { cell in
                cell.replacingOccurrences(of: "\u{0}", with: "|").replacingOccurrences(of: "`", with: "")
                    .trimmingCharacters(in: .whitespaces)
            }
        }
    }

    /// What the first group of `pattern` matches, each time.
    func matches(_ pattern: String) throws -> [String] {
        let whole = NSRange(location: 0, length: (text as NSString).length)
        return try NSRegularExpression(pattern: pattern).matches(in: text, range: whole).map {
            (text as NSString).substring(with: $0.range(at: 1))
        }
    }

    /// Every document that a stranger reads.
    static let all = (paths(in: "docs").filter { $0.hasSuffix(".md") } + ["README.md", "CHANGELOG.md"]).filter(isFile)
        .map { Document($0) }

    static func isFile(_ path: String) -> Bool { FileManager.default.fileExists(atPath: "\(root)/\(path)") }

    static func paths(in folder: String) -> [String] {
        // A folder that does not exist has no files.
        ((try? FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)")) ?? []).sorted().map {
            "\(folder)/\($0)"
        }
    }

    /// The number that a source file gives to a property.
    static func value(of property: String, in path: String) -> String {
        // What is not found is no number, and no row of a document.
        (try? Document(path).matches("\\b\(property) = ([0-9_]+)"))?.first?.replacingOccurrences(of: "_", with: "")
            ?? "?"
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
        .path
}

/// One place in the source that logs.
private struct LogCall {
    let level: String
    let message: String
    let fields: Set<String>

    static func all() throws -> [LogCall] {
        let start = try NSRegularExpression(pattern: #"\blog\.(debug|info|warning|error)\(\s*"((?:[^"\\]|\\.)*)""#)
        let field = try NSRegularExpression(pattern: #"LogField\(\s*"([A-Za-z]+)""#)
        return Document.paths(in: "Sources").filter { $0.hasSuffix(".swift") }.flatMap { path in
            let text = Document(path).text as NSString
            let whole = NSRange(location: 0, length: text.length)
            return start.matches(in: text as String, range: whole).map { match in
                let call = NSRange(location: match.range.location, length: end(of: match.range, in: text))
                let fields = field.matches(in: text as String, range: call).map {
                    text.substring(with: $0.range(at: 1))
                }
                return LogCall(
                    level: text.substring(with: match.range(at: 1)),
                    message: text.substring(with: match.range(at: 2)),
                    fields: Set(fields)
                )
            }
        }
    }

    /// How long the call is that begins at `start`: to the parenthesis that closes its first.
    private static func end(of start: NSRange, in text: NSString) -> Int {
        var depth = 0
        for (offset, character) in text.substring(from: start.location).enumerated() {
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if character == ")", depth == 0 { return offset }
        }
        return 0
    }
}
