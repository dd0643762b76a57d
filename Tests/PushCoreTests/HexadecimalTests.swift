import PushCore
import Testing

@Suite struct HexadecimalTests {
    @Test func `sixteen bytes are an id, any other count is digits`() {
        #expect(uuidText(Array(0..<16)) == "00010203-0405-0607-0809-0a0b0c0d0e0f")
        #expect(uuidText([0xab]) == "ab")
    }

    @Test func `an id may have capitals`() {
        var text = Array("=".utf8)
        appendUUID(Array(repeating: 0xfa, count: 16), to: &text, uppercase: true)
        #expect(String(decoding: text, as: UTF8.self) == "=FAFAFAFA-FAFA-FAFA-FAFA-FAFAFAFAFAFA")
    }
}
