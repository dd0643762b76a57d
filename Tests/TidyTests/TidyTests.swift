import Testing

/// The house style, as far as a machine can check it.
@Suite struct TidyTests {
    /// What may stand only in the named places, and what to write instead. A place is a prefix of the path.
    struct Ban: Sendable {
        let pattern: String
        var allowed: [String] = []
        let instead: String
    }

    /// In code: comments and strings may say these words.
    static let codeBans = [
        Ban(
            pattern: #"@unchecked\s+Sendable"#,
            allowed: ["Sources/Reactor/Locked.swift"],
            instead: "confine the value to its loop, or put it in Locked"
        ),
        Ban(pattern: #"\bnonisolated\(unsafe\)"#, instead: "pass the value in"),
        Ban(
            pattern: #"\bimport\s+Synchronization\b"#,
            allowed: ["Locked", "Mailbox", "Counters"].map { "Sources/Reactor/\($0).swift" },
            instead: "use Locked, or an AtomicCell"
        ),
        Ban(pattern: #"\bMutex\b\s*[<(]"#, instead: "use Locked: thread sanitizer cannot see Mutex"),
        Ban(
            pattern: #"\bimport\s+Foundation"#,
            allowed: ["Sources/UserNotifications/", "Sources/DeviceKit/"],
            instead: "use the standard library"
        ),
        Ban(pattern: #"\bDate\(\)"#, instead: "take the time as a parameter"),
        Ban(pattern: #"\btry!"#, instead: "handle the error"),
        Ban(pattern: #"\bprint\("#, allowed: ["Sources/carillon/"], instead: "log it"),
        Ban(
            pattern: #"\b(class|struct|enum|actor|protocol|typealias)\s+\w*(Manager|Helper|Utils?|Handler|Impl)\b"#,
            allowed: ["Sources/UserNotifications/", "Sources/DeviceKit/"],
            instead: "name it after what it is"
        ),
    ]

    /// Anywhere, also in comments, scripts and documents.
    static let textBans = [
        Ban(pattern: #"\b(FIXME|XXX)\b"#, instead: "fix it before it lands"),
        Ban(pattern: #"\bdesign\.md\b|(?<![\w/])spec/"#, instead: "cite what stands in the repository"),
        Ban(pattern: #"\bTODO\b(?!\(#\d+\))"#, instead: "write TODO(#12) with its issue, or do it"),
        Ban(
            pattern: #"(?<![\w.}$/])/(tmp|var/tmp|home|root|work|Users)/"#,
            instead: "ask the system for a temporary folder, or take the path as an argument"
        ),
    ]

    /// Each C module and the Swift modules that may know it: one, but for OpenSSL (decision 0011), and `Bare`, which
    /// measures the libraries themselves.
    static let owners = [
        "CNGHTTP2": ["HTTP2"], "COpenSSL": ["TLS", "TLSRecord", "Bare"], "CSQLite": ["Storage", "Bare"],
        "CMicroHTTPD": ["Admin"],
        "CCurl": ["Client"], "CSimdJSON": ["JSON"], "CLinux": ["Reactor"],
    ]

    @Test(arguments: SourceFile.swift)
    func `a file can be read in one sitting`(_ file: SourceFile) {
        #expect(file.lineCount <= 400)
    }

    @Test(arguments: SourceFile.swift)
    func `a function fits on a screen and its call on a line`(_ file: SourceFile) throws {
        for function in try FunctionShape.all(in: file.code) {
            let place = "\(file.path):\(function.line)"
            if function.lineCount > 60 { Issue.record("\(place): \(function.lineCount) lines; 60 are the most") }
            // A builder in the tests has a default for each of its parameters, and is called with one or two.
            if function.parameterCount > 4 && !function.takesPointers && file.path.hasPrefix("Sources/") {
                Issue.record("\(place): \(function.parameterCount) parameters; beyond 4 there is a type to name")
            }
        }
    }

    @Test(arguments: SourceFile.swift + SourceFile.written.filter { !$0.path.hasSuffix(".swift") })
    func `a line has 120 columns`(_ file: SourceFile) throws {
        // Rows of tables in documents cannot be broken; the report holds commands as they were run.
        let ban = Ban(pattern: #"^(?!\|).{121,}$"#, allowed: ["docs/benchmarks.md"], instead: "break the line")
        try check(ban, file, in: \.text)
    }

    @Test(arguments: SourceFile.product)
    func `the product uses nothing that is banned`(_ file: SourceFile) throws {
        for ban in Self.codeBans { try check(ban, file, in: \.code) }
    }

    @Test(arguments: SourceFile.product)
    func `an error that does not matter has its reason beside it`(_ file: SourceFile) throws {
        let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
        for line in try file.lines(matching: #"\btry\?"#, in: \.code) {
            let near = lines[max(0, line - 5)..<min(lines.count, line + 2)]
            if near.contains(where: { $0.contains("//") }) { continue }
            Issue.record("\(file.path):\(line): say why the failure does not matter")
        }
    }

    @Test(arguments: SourceFile.product)
    func `a short file has no headings`(_ file: SourceFile) throws {
        guard file.lineCount < 150 else { return }
        try check(Ban(pattern: "// MARK", instead: "order says enough"), file, in: \.text)
    }

    @Test(arguments: SourceFile.written)
    func `nothing is left over`(_ file: SourceFile) throws {
        for ban in Self.textBans { try check(ban, file, in: \.text) }
    }

    @Test(arguments: SourceFile.product)
    func `a C module is known to its Swift modules alone`(_ file: SourceFile) throws {
        for (library, owners) in Self.owners where !owners.contains(file.module) {
            let ban = Ban(pattern: #"\bimport\s+\#(library)\b"#, instead: "use \(owners.joined(separator: " or "))")
            try check(ban, file, in: \.code)
        }
    }

    @Test func `every C module has its owner in the table`() {
        let libraries = SourceFile.written.filter { $0.path.hasSuffix(".h") }.map(\.module)
        #expect(Set(libraries).isSubset(of: Self.owners.keys))
        #expect(libraries.count >= Self.owners.count)
    }

    @Test func `a word in a string or a comment is not code`() throws {
        let file = SourceFile(path: "Sources/A/A.swift", text: "// try! it\nlet a = \"print(1)\"\nprint(a)\n")
        #expect(try file.lines(matching: #"\btry!"#, in: \.code) == [])
        #expect(try file.lines(matching: #"\bprint\("#, in: \.code) == [3])
    }

    private func check(_ ban: Ban, _ file: SourceFile, in subject: KeyPath<SourceFile, String>) throws {
        guard !ban.allowed.contains(where: file.path.hasPrefix) else { return }
        for line in try file.lines(matching: ban.pattern, in: subject) {
            Issue.record("\(file.path):\(line): \(ban.pattern) is banned; \(ban.instead)")
        }
    }
}
