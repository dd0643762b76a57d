import PushCore
import Testing

@testable import Gateway

@Suite struct GatewayClockTests {
    @Test func `a held clock stands, and moves only as far as it is moved`() {
        let clock = GatewayClock()
        clock.hold(true)
        let before = clock.now()
        clock.advance(by: .seconds(60))
        #expect(clock.now() == before + .seconds(60))
    }

    @Test func `a clock that was held goes on from where it would be`() {
        let clock = GatewayClock()
        clock.hold(true)
        clock.advance(by: .seconds(3600))
        let held = clock.now()
        clock.hold(false)
        #expect(clock.now() >= held)
    }
}
