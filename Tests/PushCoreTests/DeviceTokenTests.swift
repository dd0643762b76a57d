import PushCore
import TestSupport
import Testing

@Suite struct DeviceTokenTests {
    @Test(arguments: [1, 2, 31, 32, 33, 40, 54, 80, 99, 100])
    func `a token of 1 to 100 bytes comes out as it went in`(_ count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 129) }
        let token = try #require(DeviceToken(bytes))
        #expect(token.bytes == bytes)
        #expect(token.count == count)
        #expect(DeviceToken(hex: token.hex) == token)
    }

    @Test(arguments: [0, 101, 200])
    func `any other count is no token`(_ count: Int) {
        #expect(DeviceToken([UInt8](repeating: 7, count: count)) == nil)
        #expect(DeviceToken(hex: String(repeating: "07", count: count)) == nil)
    }

    @Test func `digits of either case name the same token`() throws {
        let lower = String(repeating: "0f1e2d3c4b5a69788796a5b4c3d2e1f0", count: 2)
        let token = try #require(DeviceToken(hex: lower))
        #expect(DeviceToken(hex: lower.uppercased()) == token)
        #expect(token.hex == lower)
    }

    @Test(arguments: ["g0", "0", "abc", "%20", "<ab>", "ab cd ", "0x12", "ａｂ", "ab\u{0}1", "/0", ":0", "@0", "`0"])
    func `what is not pairs of digits is no token`(_ text: String) {
        #expect(DeviceToken(hex: text) == nil)
    }

    @Test func `each digit of a token of the usual length is looked at`() {
        for place in 0..<64 {
            for byte in UInt8.min...UInt8.max {
                var digits = [UInt8](repeating: UInt8(ascii: "0"), count: 64)
                digits[place] = byte
                let value = hexValue(byte)
                let token = DeviceToken(hex: digits.span)
                #expect((token == nil) == (value == nil))
                guard let token, let value else { continue }
                #expect(token[place / 2] == (place % 2 == 0 ? value << 4 : value))
            }
        }
    }

    @Test func `tokens differ by any bit of theirs`() {
        for count in [1, 32, 33, 100] {
            let bytes = [UInt8](repeating: 0, count: count)
            for index in bytes.indices {
                var other = bytes
                other[index] = 1
                #expect(DeviceToken(other) != DeviceToken(bytes), "byte \(index) of \(count)")
            }
        }
    }

    @Test func `trailing zeros make another token`() {
        let tokens = (1...100).map { DeviceToken([UInt8](repeating: 0, count: $0)) }
        #expect(Set(tokens).count == 100)
    }

    @Test func `equal tokens have equal hashes`() {
        let tokens = [32, 80].flatMap { count in (0..<2).map { _ in DeviceToken([UInt8](repeating: 9, count: count)) } }
        #expect(tokens[0].hashValue == tokens[1].hashValue)
        #expect(tokens[2].hashValue == tokens[3].hashValue)
    }

    @Test func `the first bytes are its bucket and the first digits all that is shown`() throws {
        let token = try #require(DeviceToken(hex: "0123456789abcdef"))
        #expect(token.bucket == 0x0123)
        #expect("\(token)" == "01234567")
        #expect(DeviceToken([0xab])?.bucket == 0xab00)
        #expect(DeviceToken([0xab])?.prefix == "ab")
    }
}
