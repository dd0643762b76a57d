import Foundation
import Testing

/// One file of the project, as text and as code alone.
struct SourceFile: CustomTestStringConvertible, Sendable {
    /// From the project's folder, such as `Sources/Reactor/Poller.swift`.
    let path: String
    let text: String
    /// Swift with its comments, strings and raw identifiers blanked, so that words and braces in them do not count.
    let code: String

    var testDescription: String { path }

    init(path: String, text: String) {
        self.path = path
        self.text = text
        code = path.hasSuffix(".swift") ? String(decoding: blanked(Array(text.utf8)), as: UTF8.self) : text
    }

    /// The module the file belongs to: `Reactor` for `Sources/Reactor/Poller.swift`.
    var module: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
    var lineCount: Int { text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 }

    /// The line numbers at which `pattern` matches in `subject`, which is `text` or `code`.
    func lines(matching pattern: String, in subject: KeyPath<SourceFile, String>) throws -> [Int] {
        let string = self[keyPath: subject] as NSString
        let expression = try NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
        let whole = NSRange(location: 0, length: string.length)
        return expression.matches(in: string as String, range: whole).map { match in
            string.substring(to: match.range.location).utf8.count { $0 == UInt8(ascii: "\n") } + 1
        }
    }

    /// Every Swift file under Sources, Simulation, Benchmarks, Tests and Fuzz.
    static let swift = files(["Sources", "Simulation", "Benchmarks", "Tests", "Fuzz"].flatMap(paths)) {
        $0.hasSuffix(".swift")
    }
    /// Those that are the product, and what measures it.
    static let product = swift.filter { $0.path.hasPrefix("Sources/") || $0.path.hasPrefix("Benchmarks/") }
    /// Every text that a stranger reads or runs, but for this test, which must name what it bans.
    static let written = files(
        ["Sources", "Simulation", "Benchmarks", "Tests", "Fuzz", "scripts", ".ci", "docs"].flatMap(paths)
            + ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
    ) { path in
        let kind = path.split(separator: "/").last?.split(separator: ".").dropFirst().last ?? ""
        return ["", "swift", "c", "cpp", "h", "md", "py", "txt", "modulemap"].contains(kind)
            && !path.hasPrefix("Tests/TidyTests/") && !path.contains("/corpus/") && !path.contains("/crashes/")
            && !path.contains("/__pycache__/") && !path.contains("/.")
    }

    private static let root = URL(filePath: #filePath + "/../../..").standardized.path

    private static func paths(in folder: String) -> [String] {
        // A folder that does not exist has nothing that could be untidy.
        ((try? FileManager.default.subpathsOfDirectory(atPath: root + "/" + folder)) ?? []).map { folder + "/" + $0 }
    }

    private static func files(_ paths: [String], where isWanted: (String) -> Bool) -> [SourceFile] {
        paths.filter(isWanted).sorted().compactMap { path in
            // Neither folders nor files that are not UTF-8 are text.
            (try? String(contentsOfFile: root + "/" + path, encoding: .utf8)).map { SourceFile(path: path, text: $0) }
        }
    }
}
