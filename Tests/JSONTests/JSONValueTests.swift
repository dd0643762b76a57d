import Testing

@testable import JSON

@Suite struct JSONValueTests {
    private func parse(_ text: String) throws(JSONError) -> JSONValue {
        try parse(Array(text.utf8))
    }

    private func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONValue(parsing: bytes.span)
    }

    @Test func `each kind of value is told apart`() throws {
        let value = try parse(
            #"{"a":null,"b":true,"c":-3,"d":18446744073709551615,"e":1.5,"f":"x\n\u00e9\u0000y","g":[1,[]],"h":{}}"#
        )
        #expect(
            value
                == .object([
                    ("a", .null), ("b", .bool(true)), ("c", .integer(-3)), ("d", .unsigned(.max)), ("e", .number(1.5)),
                    ("f", .string("x\né\0y")), ("g", .array([.integer(1), .array([])])), ("h", .object([])),
                ])
        )
    }

    @Test func `members are found by name, elements and scalars by kind`() throws {
        let value = try parse(#"{"s":"t","i":7,"b":false,"l":[1],"d":0.5,"n":null,"s":"second"}"#)
        #expect(value["s"]?.string == "t")
        #expect(value["i"]?.int == 7)
        #expect(value["i"]?.double == 7)
        #expect(value["b"]?.bool == false)
        #expect(value["l"]?.array == [.integer(1)])
        #expect(value["d"]?.double == 0.5)
        #expect(value["n"]?.isNull == true)
        #expect(value["absent"] == nil)
        #expect(value["s"]?["s"] == nil)
        #expect(value["s"]?.int == nil)
    }

    @Test func `a document need not be an object`() throws {
        #expect(try parse("3") == .integer(3))
        #expect(try parse(#""x""#) == .string("x"))
        #expect(throws: JSONError.tooDeep) {
            try parse(String(repeating: "[", count: 129) + String(repeating: "]", count: 129))
        }
    }

    @Test func `an error says what is wrong`() {
        #expect(throws: JSONError(description: "Empty: no JSON found")) { try parse("") }
    }

    @Test func `members keep their order and count in a comparison`() throws {
        #expect(try parse(#"{"a":1,"b":2}"#) != parse(#"{"b":2,"a":1}"#))
        #expect(try parse(#"{"a":1}"#) != parse(#"{"a":1.0}"#))
        #expect(try parse(#"{"a":1}"#) != parse(#"{"a":1,"a":1}"#))
    }

    @Test(arguments: JSONTestSuite.files("y_"))
    func `what is encoded reads back as the same value`(_ file: JSONTestSuite) throws {
        let value = try parse(file.bytes)
        #expect(try parse(value.encoded) == value)
    }

    @Test(arguments: JSONTestSuite.files("n_"))
    func `bad JSON makes no value`(_ file: JSONTestSuite) {
        #expect(throws: JSONError.self) { try parse(file.bytes) }
    }
}
