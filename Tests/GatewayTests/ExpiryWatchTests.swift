import PushCore
import Testing

@testable import Gateway

@Suite struct ExpiryWatchTests {
    private let end = Moment(seconds: 2_000_000_000)

    private func days(_ watch: inout ExpiryWatch, before days: Int64) -> [Int] {
        watch.due([("server", end)], at: end + (.zero - .days(days))).map(\.days)
    }

    @Test func `each step is told once`() {
        var watch = ExpiryWatch()
        let told = [31, 30, 29, 14, 13, 7, 2, 1, 0, -1].map { days(&watch, before: $0) }
        #expect(told == [[], [30], [], [14], [], [7], [], [1], [0], []])
    }

    @Test func `who looks late is told the nearest step only`() {
        var watch = ExpiryWatch()
        #expect(days(&watch, before: 5) == [7])
        #expect(days(&watch, before: 5) == [])
    }

    @Test func `a clock that goes back tells nothing twice`() {
        var watch = ExpiryWatch()
        #expect(days(&watch, before: 1) == [1])
        #expect(days(&watch, before: 20) == [])
    }

    @Test func `a certificate that was renewed begins anew`() {
        var watch = ExpiryWatch()
        #expect(days(&watch, before: 1) == [1])
        let renewed = end + .days(40)
        #expect(watch.due([("server", renewed)], at: end).isEmpty)
        #expect(watch.due([("server", renewed)], at: end + .days(20)).map(\.days) == [30])
    }

    @Test func `each name has its own steps`() {
        var watch = ExpiryWatch()
        let ends: [(StaticString, Moment)] = [("server", end), ("authority", end + .days(100))]
        #expect(watch.due(ends, at: end).map(\.name) == ["server"])
        #expect(watch.due(ends, at: end + .days(99)).map(\.name) == ["authority"])
    }
}
