import Testing

@testable import Client

@Suite struct CourierPulseTests {
    let second: Int64 = 1_000_000_000

    @Test func `a gateway that does not answer Connect is given up`() {
        var pulse = CourierPulse(at: 0)
        #expect(pulse.check(at: 14 * second) == .nothing)
        #expect(pulse.check(at: 15 * second) == .giveUp)
    }

    @Test func `a sign of life is due every minute`() {
        var pulse = CourierPulse(at: 0)
        pulse.heard()
        #expect(pulse.check(at: 59 * second) == .nothing)
        #expect(pulse.check(at: 60 * second) == .sendKeepAlive)
        pulse.heard()
        #expect(pulse.check(at: 119 * second) == .nothing)
        #expect(pulse.check(at: 120 * second) == .sendKeepAlive)
    }

    @Test func `a sign of life without an answer is the last`() {
        var pulse = CourierPulse(at: 0)
        pulse.heard()
        #expect(pulse.check(at: 60 * second) == .sendKeepAlive)
        #expect(pulse.check(at: 74 * second) == .nothing)
        #expect(pulse.check(at: 75 * second) == .giveUp)
    }
}
