import Testing

@testable import HTTP2

@Suite struct PatienceTests {
    private static var limits: HTTP2Limits {
        var limits = HTTP2Limits()
        limits.patience = 10
        limits.patiencePerSecond = 3
        limits.patiencePerAnswer = 2
        return limits
    }

    @Test func `what is owed may reach the limit and not pass it`() {
        var patience = Patience(Self.limits)
        let verdicts = (0..<11).map { _ in patience.spend(1) }
        #expect(verdicts == Array(repeating: true, count: 10) + [false])
    }

    @Test func `time and answers make up for what was spent, and give nothing in advance`() {
        var patience = Patience(Self.limits)
        patience.pass(to: 100)
        _ = patience.spend(9)
        patience.pass(to: 102)
        #expect(patience.owed == 3)
        patience.answered()
        patience.answered()
        patience.pass(to: 200)
        #expect(patience.owed == 0)
    }

    @Test func `a clock that goes back gives nothing, and one that leaps gives all`() {
        var patience = Patience(Self.limits)
        patience.pass(to: 100)
        _ = patience.spend(9)
        patience.pass(to: 50)
        #expect(patience.owed == 9)
        patience.pass(to: .max)
        #expect(patience.owed == 0)
    }

    @Test func `frames of requests are free, and a change of settings costs most`() {
        #expect([(1, 4), (9, 4), (0, 0), (0, 1)].allSatisfy { Patience.cost($0.0, $0.1, length: 5) == 0 })
        #expect(Patience.cost(0, 0, length: 0) == 1)
        #expect(Patience.cost(0, 8, length: 9) == 1)
        #expect(Patience.cost(0, 1, length: 0) == 0)
        #expect(Patience.cost(4, 0, length: 0) == 100)
        #expect(Patience.cost(4, 1, length: 0) == 1)
        #expect([2, 3, 6, 7, 8, 0x2a].allSatisfy { Patience.cost($0, 0, length: 4) == 1 })
    }
}
