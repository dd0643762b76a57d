import Testing

@testable import JSON

@Suite struct JSONWriterTests {
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `an object holds its members in order`() {
        let text = written {
            $0.object {
                $0.field("text", "x")
                $0.field("number", -5)
                $0.field("ratio", 0.25)
                $0.field("flag", true)
                $0.field("absent", nil)
                $0.field("optional", nil as String?)
                $0.field("given", "y" as String?)
                $0.field("list", [1, 2])
                $0.key("inner")
                $0.object { $0.field("a", JSONValue.null) }
                $0.key("empty")
                $0.array { _ in }
            }
        }
        #expect(
            text == #"{"text":"x","number":-5,"ratio":0.25,"flag":true,"absent":null,"optional":null,"given":"y","#
                + #""list":[1,2],"inner":{"a":null},"empty":[]}"#
        )
    }

    @Test func `an array holds any values`() {
        let text = written {
            $0.array {
                $0.value("a")
                $0.value(1)
                $0.value(nil)
                $0.object { _ in }
                $0.array { $0.value(false) }
                $0.value(UInt64.max)
            }
        }
        #expect(text == #"["a",1,null,{},[false],18446744073709551615]"#)
    }

    @Test func `strings are escaped as RFC 8259 asks and no further`() {
        #expect(
            written { $0.value("\"\\/\u{8}\t\n\u{C}\r\u{0}\u{1F}\u{7F}é😀") } == #""\"\\/\b\t\n\f\r\u0000\u001f"#
                + "\u{7F}é😀\""
        )
        #expect(written { $0.object { $0.field("a\"b", "") } } == #"{"a\"b":""}"#)
    }

    @Test(arguments: [0, -0.0, 1e21, -1.5e-9, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1 / 3] as [Double])
    func `a number reads back exactly`(_ number: Double) throws {
        let encoded = JSONValue.number(number).encoded
        let read = try JSONValue(parsing: encoded.span)
        #expect(read.double == number)
    }

    @Test(arguments: [Double.infinity, -Double.infinity, Double.nan])
    func `what JSON cannot express is null`(_ number: Double) {
        #expect(written { $0.value(number) } == "null")
    }

    @Test func `values that end like structure are still separated`() {
        #expect(
            written {
                $0.array {
                    $0.value("["); $0.value(":"); $0.value("{")
                }
            } == #"["[",":","{"]"#
        )
    }
}
