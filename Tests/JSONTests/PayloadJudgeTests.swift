import Testing

@testable import JSON

@Suite struct PayloadJudgeTests {
    private func isObject(_ text: String) -> Bool { isObject(Array(text.utf8)) }
    private func isObject(_ bytes: [UInt8]) -> Bool { PayloadJudge().isObject(bytes.span) }

    @Test func `the whole test suite is there`() {
        #expect(JSONTestSuite.files("y_").count == 95)
        #expect(JSONTestSuite.files("n_").count == 188)
        #expect(JSONTestSuite.files("i_").count == 35)
    }

    @Test(arguments: JSONTestSuite.files("y_"))
    func `good JSON is accepted if it is an object`(_ file: JSONTestSuite) {
        #expect(isObject(file.bytes) == file.looksLikeObject)
        #expect(isObject(Array(#"{"x":"#.utf8) + file.bytes + [UInt8(ascii: "}")]))
    }

    @Test(arguments: JSONTestSuite.files("n_"))
    func `bad JSON is refused`(_ file: JSONTestSuite) {
        #expect(!isObject(file.bytes))
        #expect(!isObject(Array(#"{"x":"#.utf8) + file.bytes + [UInt8(ascii: "}")]))
    }

    @Test(arguments: JSONTestSuite.files("i_"))
    func `doubtful JSON is refused unless it is only a very small number`(_ file: JSONTestSuite) {
        let small = ["i_number_double_huge_neg_exp.json", "i_number_real_underflow.json"]
        let isTaken = isObject(Array(#"{"x":"#.utf8) + file.bytes + [UInt8(ascii: "}")])
        #expect(isTaken == small.contains(file.name))
    }

    @Test(arguments: ["", " ", "1", "null", "[]", #""text""#, "{", "{}{}", "{} x", "{}\u{0}", "\u{FEFF}{}"])
    func `what is not one object is refused`(_ text: String) {
        #expect(!isObject(text))
    }

    @Test(arguments: ["{}", " {}\r\n\t ", #"{"a":1,"a":2}"#, #"{"a":18446744073709551615,"b":-9223372036854775808}"#])
    func `an object is accepted`(_ text: String) {
        #expect(isObject(text))
    }

    @Test(arguments: [
        #"\ud800"#, #"\udc00"#, #"\ud800\ud800"#, #"\udc00\ud800"#, #"\ud800x"#, #"\ud800\n"#, #"\ud800\u0041"#,
        #"\uDBFF"#,
    ])
    func `a lone surrogate is refused in a value and in a name`(_ text: String) {
        #expect(!isObject(#"{"a":"\#(text)"}"#))
        #expect(!isObject(#"{"\#(text)":1}"#))
    }

    @Test(arguments: ["1e309", "-1e309", "18446744073709551616", "-9223372036854775809"])
    func `a number outside binary64 and 64-bit integers is refused`(_ number: String) {
        #expect(!isObject(#"{"a":\#(number)}"#))
    }

    @Test(arguments: ["[", #"{"a":"#])
    func `nesting stops at 128, the outer object counted`(_ opening: String) {
        let closing = opening == "[" ? "]" : "}"
        let innermost = opening == "[" ? "[]" : "{}"
        func nested(_ depth: Int, around inside: String) -> String {
            let repeats = depth - 1
            return #"{"x":"# + String(repeating: opening, count: repeats) + inside
                + String(repeating: closing, count: repeats) + "}"
        }
        #expect(isObject(nested(128, around: "1")))
        #expect(!isObject(nested(129, around: "1")))
        #expect(isObject(nested(127, around: innermost)))
        #expect(!isObject(nested(128, around: innermost)))
    }

    @Test func `a hundred thousand brackets are refused`() {
        #expect(!isObject(String(repeating: "[", count: 100_000)))
        #expect(!isObject(String(repeating: #"{"a":"#, count: 100_000)))
    }

    @Test func `a judge forgets the document before`() {
        let judge = PayloadJudge()
        func isObject(_ bytes: [UInt8]) -> Bool { judge.isObject(bytes.span) }
        let long = Array((#"{"a":""# + String(repeating: "x", count: 5000) + #""}"#).utf8)
        #expect(isObject(long))
        #expect(!isObject(Array(#"{"a":"x"#.utf8)))
        #expect(isObject(Array("{}".utf8)))
        #expect(isObject(long))
    }

    @Test func `no cut of an object is an object`() {
        let whole = Array(#"{"aps":{"alert":"\u00e9\ud83d\ude00ü","badge":[1,-2.5e3,true,null]}}"#.utf8)
        for count in whole.indices { #expect(!isObject(Array(whole[..<count]))) }
        #expect(isObject(whole))
    }
}
