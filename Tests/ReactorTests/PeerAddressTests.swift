import Reactor
import Testing

@Suite struct PeerAddressTests {
    @Test func `half of an IPv6 address is its network, an IPv4 address its own`() throws {
        let start: [UInt8] = [0x20, 0x01, 0x0d, 0xb8, 1, 2, 3, 4]
        let six = try #require(PeerAddress(start + [5, 6, 7, 8, 9, 10, 11, 12]))
        #expect(six.network.bytes == start + [UInt8](repeating: 0, count: 8))
        let four = try #require(PeerAddress([192, 0, 2, 1]))
        #expect(four.network == four)
    }

    @Test(arguments: [
        ([127, 0, 0, 1], "127.0.0.1"),
        ([192, 0, 2, 255], "192.0.2.255"),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3], "10.1.2.3"),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "::1"),
        ([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1f], "2001:db8::1f"),
    ])
    func `an address prints as people write it`(_ bytes: [UInt8], _ text: String) {
        #expect(PeerAddress(bytes)?.description == text)
    }

    @Test func `a mapped address is the same as its IPv4 one`() {
        let mapped = PeerAddress([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3])
        #expect(PeerAddress([10, 1, 2, 3]) == mapped)
        #expect(mapped?.bytes.suffix(4) == [10, 1, 2, 3])
        #expect(mapped?.isIPv4 == true)
    }

    @Test(arguments: [
        ([127, 255, 0, 1], true), ([128, 0, 0, 1], false), ([10, 0, 0, 127], false),
        (Array(repeating: 0, count: 15) + [1], true), (Array(repeating: 0, count: 15) + [2], false),
        ([1] + Array(repeating: 0, count: 14) + [1], false),
    ])
    func `loopback is told from the rest`(_ bytes: [UInt8], _ isLoopback: Bool) {
        #expect(PeerAddress(bytes)?.isLoopback == isLoopback)
    }

    @Test func `another count of bytes is no address`() {
        for count in [0, 3, 5, 15, 17] { #expect(PeerAddress(Array(repeating: 1, count: count)) == nil) }
    }
}
