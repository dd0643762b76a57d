import PushCore
import Testing

@testable import Gateway

@Suite struct GatheringTests {
    @Test func `a turn with few requests writes at once`() {
        var gathering = Gathering()
        #expect(!gathering.mustWait(afterRequests: 0) && !gathering.isWaiting)
        #expect(!gathering.mustWait(afterRequests: Limits.gatherAbove - 1) && !gathering.isWaiting)
    }

    @Test func `under load it waits, but not for ever`() {
        var gathering = Gathering()
        let waits = (0..<12).map { _ in gathering.mustWait(afterRequests: Limits.gatherAbove) }
        let once = Array(repeating: true, count: Limits.gatherTurns) + [false]
        #expect(waits == once + once)
    }

    @Test func `what waits is written when the load ends`() {
        var gathering = Gathering()
        #expect(gathering.mustWait(afterRequests: 1000) && gathering.isWaiting)
        #expect(!gathering.mustWait(afterRequests: 0) && !gathering.isWaiting)
    }
}
