import Reactor
import Testing

@Suite struct ProxyHeaderTests {
    private static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
    private static let four: [UInt8] = [203, 0, 113, 9, 192, 0, 2, 1, 0x12, 0x34, 0x01, 0xbb]
    private static let six: [UInt8] =
        [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9] + [UInt8](repeating: 7, count: 20)

    private static func header(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 255)] + rest
    }

    /// Feeds `bytes`, so many at a time, as long as they are wanted.
    private func decode(_ bytes: [UInt8], piece: Int = .max) throws(ProxyHeaderError) -> ProxyHeader? {
        var decoder = ProxyHeaderDecoder()
        var rest = bytes[...]
        while !rest.isEmpty {
            let next = rest.prefix(min(piece, decoder.wanted))
            rest = rest.dropFirst(next.count)
            if let header = try decoder.append(next) { return rest.isEmpty ? header : nil }
        }
        return nil
    }

    @Test(arguments: [1, 2, 5, 16, .max])
    func `the source is read, however it comes`(_ piece: Int) throws {
        let four = try decode(Self.header(0x21, 0x11, Self.four), piece: piece)
        #expect(four?.source?.description == "203.0.113.9")
        let six = try decode(Self.header(0x21, 0x21, Self.six), piece: piece)
        #expect(six?.source?.description == "2001:db8::9")
    }

    @Test func `what follows the addresses is skipped`() throws {
        let extensions: [UInt8] = [0x04, 0, 3, 1, 2, 3, 0xea, 0, 1, 0]
        #expect(try decode(Self.header(0x21, 0x11, Self.four + extensions))?.source?.description == "203.0.113.9")
    }

    @Test(arguments: [(0x20, 0x00, 0), (0x20, 0x11, 12), (0x21, 0x00, 0), (0x21, 0x31, 216)] as [(UInt8, UInt8, Int)])
    func `a balancer's own word, or one without an address, leaves the socket's peer`(
        _ command: UInt8,
        _ family: UInt8,
        _ count: Int
    ) throws {
        let header = try decode(Self.header(command, family, [UInt8](repeating: 1, count: count)))
        #expect(header == ProxyHeader(source: nil))
    }

    @Test(
        arguments: [
            (0x11, 0x11, 12), (0x31, 0x11, 12), (0x22, 0x11, 12), (0x21, 0x12, 12), (0x21, 0x22, 36), (0x21, 0x41, 12),
            (0x21, 0x11, 11), (0x21, 0x21, 35), (0x21, 0x11, 2033), (0x20, 0x00, 65_535),
        ] as [(UInt8, UInt8, Int)]
    )
    func `what no balancer sends is malformed`(_ command: UInt8, _ family: UInt8, _ count: Int) {
        let bytes = Self.header(command, family, [UInt8](repeating: 1, count: count))
        #expect(throws: ProxyHeaderError.malformed) { _ = try decode(bytes) }
    }

    @Test func `the largest is taken`() throws {
        let rest = Self.four + [UInt8](repeating: 0, count: ProxyHeader.countLimit - 16 - 12)
        #expect(try decode(Self.header(0x21, 0x11, rest))?.source != nil)
    }

    @Test(arguments: [1, .max])
    func `version 1 is told apart`(_ piece: Int) {
        let text = Array("PROXY TCP4 203.0.113.9 192.0.2.1 4660 443\r\n".utf8)
        #expect(throws: ProxyHeaderError.version1) { _ = try decode(text, piece: piece) }
    }

    @Test(arguments: [[0x16, 3, 1], [0x50, 0x52, 0x49], [0x0d, 0x0a, 0x0d, 0x0b]] as [[UInt8]])
    func `what is no header is known by its first wrong byte`(_ bytes: [UInt8]) {
        #expect(throws: ProxyHeaderError.missing) { _ = try decode(bytes, piece: 1) }
    }

    @Test func `every part of one is waited for`() throws {
        let whole = Self.header(0x21, 0x21, Self.six)
        for count in 0..<whole.count { #expect(try decode(Array(whole[..<count])) == nil) }
    }
}
