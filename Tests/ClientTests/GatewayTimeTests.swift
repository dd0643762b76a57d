import Testing
import Wire

@testable import Client

@Suite struct GatewayTimeTests {
    private func time(after answer: UInt64, at wall: Int64) -> Int64 {
        var time = GatewayTime()
        time.follow(ConnectAck(status: 0, token: [], serverTimeMilliseconds: answer), at: wall)
        return time.milliseconds(at: wall + 5_000_000)
    }

    @Test func `before the first answer our own clock must do`() {
        #expect(GatewayTime().milliseconds(at: 7_000_000) == 7)
    }

    @Test func `an answer's time goes on from there`() {
        #expect(time(after: 1_000, at: 70_000_000) == 1_005)
    }

    @Test(arguments: [0, UInt64(1) << 44, UInt64(Int64.max), .max])
    func `a time that cannot be is not believed`(_ answer: UInt64) {
        #expect(time(after: answer, at: 70_000_000) == 75)
    }
}
