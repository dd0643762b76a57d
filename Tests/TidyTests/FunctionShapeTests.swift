import Testing

/// The counter must itself be right, or the rules that rest on it are worth nothing.
@Suite struct FunctionShapeTests {
    private func shapes(_ source: String) throws -> [FunctionShape] {
        try FunctionShape.all(in: SourceFile(path: "A.swift", text: source).code)
    }

    @Test func `a function is counted from its first line to its closing brace`() throws {
        let found = try shapes("struct A {\n    func b(_ c: Int, d: [Int: Int]) -> Int\n    {\n        c\n    }\n}\n")
        #expect(found == [FunctionShape(line: 2, lineCount: 4, parameterCount: 2, takesPointers: false)])
    }

    @Test func `braces and words in strings, comments and names do not count`() throws {
        let source = ##"""
            func `a } b { func`() {
                let a = "}\("}" + "\(1)") {"  // }
                /* } /* } */ } */
                let b = #"}" \("}")"#
                let c = """
                    } " func d() {
                    """
            }
            """##
        #expect(try shapes(source).map(\.lineCount) == [8])
    }

    @Test func `a requirement has no body, and the next function is not its body`() throws {
        let found = try shapes("protocol A {\n    func b()\n    var c: Int\n    func d()\n}\nfunc e() {}\n")
        #expect(found.map(\.line) == [6])
    }

    @Test func `initializers and computed properties are functions, calls are not`() throws {
        let found = try shapes("struct A {\n    init() { self.init(b: 1) }\n    var b: Int {\n        1\n    }\n}\n")
        #expect(found.map(\.lineCount) == [1, 3])
    }

    @Test func `a C callback is told by its pointers`() throws {
        let found = try shapes("func a(b: Int, c: Int, d: Int, e: Int, f: UnsafeMutableRawPointer?) -> Int { 1 }\n")
        #expect(found.map(\.parameterCount) == [5])
        #expect(found.map(\.takesPointers) == [true])
    }
}
