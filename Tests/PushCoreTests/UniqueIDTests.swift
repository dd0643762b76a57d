import PushCore
import Testing

@Suite struct UniqueIDTests {
    @Test(arguments: [
        (Array(UInt8(0)..<16), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        (
            [0x90, 0x09, 0xaf, 0xfa] + Array(repeating: 0x9a, count: 8) + [0xff, 0x00, 0x0f, 0xf0],
            "9009affa-9a9a-9a9a-9a9a-9a9aff000ff0"
        ),
    ])
    func `sixteen bytes are shown as lowercase digits and come back`(_ bytes: [UInt8], _ text: String) {
        let id = UniqueID(bytes.span)
        #expect(id?.description == text)
        #expect(id.map { UniqueID($0.bytes.span) } == id)
    }

    @Test(arguments: [0, 15, 17])
    func `another count of bytes is no id`(_ count: Int) {
        #expect(UniqueID([UInt8](repeating: 1, count: count).span) == nil)
    }

    @Test func `an id may have capitals`() {
        let id = UniqueID(high: 0xfafa_fafa_fafa_fafa, low: 0x0123_4567_89ab_cdef)
        #expect(UUIDText(id, uppercase: true).description == "FAFAFAFA-FAFA-FAFA-0123-456789ABCDEF")
    }

    @Test func `each digit has its own character`() {
        for byte in UInt64(0)...255 {
            let text = UUIDText(UniqueID(high: byte, low: byte << 56))
            let digits = (byte < 16 ? "0" : "") + String(byte, radix: 16)
            #expect(text.description == "00000000-0000-00\(digits)-\(digits)00-000000000000")
        }
    }

    @Test func `text keeps the case of each letter`() {
        let text = "eABeae54-14a8-11e5-b60b-1697f925ec7B"
        #expect(UUIDText(Array(text.utf8).span)?.description == text)
        #expect(UUIDText(Array(text.utf8.dropLast()).span) == nil)
        #expect(UUIDText(Array(text.utf8).span) != UUIDText(Array(text.lowercased().utf8).span))
    }
}
