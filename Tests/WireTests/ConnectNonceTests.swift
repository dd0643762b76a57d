import PushCore
import Testing
import Wire

@Suite struct ConnectNonceTests {
    let bytes: [UInt8] = [0, 0, 0, 1, 2, 3, 4, 5, 6] + Array(10...17)

    @Test func `a nonce is a zero, the time and chance`() {
        let nonce = ConnectNonce(made: Moment(milliseconds: 0x0102_0304_0506), random: 0x0a0b_0c0d_0e0f_1011)
        #expect(nonce.bytes == bytes && ConnectNonce(bytes) == nonce)
    }

    @Test func `another count or another tag is no nonce`() {
        #expect(ConnectNonce(Array(bytes.dropLast())) == nil)
        #expect(ConnectNonce(bytes + [0]) == nil)
        #expect(ConnectNonce([1] + bytes.dropFirst()) == nil)
        #expect(ConnectNonce([]) == nil)
    }

    @Test func `a time past the end of all moments is far off and nothing worse`() throws {
        let nonce = try #require(ConnectNonce([0] + [UInt8](repeating: 0xff, count: 16)))
        #expect(nonce.made > Moment(seconds: 9_000_000_000))
    }
}
