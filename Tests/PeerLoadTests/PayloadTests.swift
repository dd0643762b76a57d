import Testing

@testable import peerload

@Suite struct PayloadTests {
    @Test(arguments: [0, 1, 9, 10, 255, 1_234_567_890])
    func `a number comes back`(_ number: Int) throws {
        let payload = Payload(run: 0xdead_beef, count: 40)
        var bytes: [UInt8] = [1, 2, 3]
        payload.append(number, to: &bytes)
        #expect(bytes.count == 43)
        #expect(try payload.number(in: bytes.span.extracting(3...)) == number)
    }

    @Test func `a message of another run has none`() throws {
        var bytes: [UInt8] = []
        Payload(run: 1, count: 24).append(7, to: &bytes)
        #expect(try Payload(run: 2, count: 24).number(in: bytes.span) == nil)
    }

    @Test func `what nobody published is refused`() {
        let bytes: [UInt8] = [1, 2, 3]
        #expect(throws: PeerError.self) { try Payload(run: 1, count: 24).number(in: bytes.span) }
    }
}
