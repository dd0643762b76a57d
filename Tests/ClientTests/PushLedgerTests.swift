import Testing

@testable import Client

@Suite struct PushLedgerTests {
    private func ledger(_ count: Int = 3) -> PushLedger {
        var ledger = PushLedger(count: count)
        for number in 0..<count { ledger.plan(number, at: 1000) }
        return ledger
    }

    @Test func `an accepted push is owed until it is delivered`() {
        var ledger = ledger()
        ledger.answered(0, 200, at: 1500)
        ledger.answered(1, 200, at: 1500)
        ledger.delivered(0, at: 1700)
        #expect(ledger.owedCount == 1 && ledger.deliveredCount == 1)
    }

    @Test func `a delivery may come before its answer`() {
        var ledger = ledger()
        ledger.delivered(0, at: 1700)
        ledger.answered(0, 200, at: 1900)
        #expect(ledger.owedCount == 0 && ledger.deliveredCount == 1)
    }

    @Test func `a refused push is not owed`() {
        var ledger = ledger()
        ledger.answered(0, 429, at: 1500)
        #expect(ledger.owedCount == 0 && ledger.statuses[429] == 1 && ledger.answeredCount == 1)
    }

    @Test func `a second delivery is a repetition and no second latency`() {
        var ledger = ledger()
        ledger.answered(0, 200, at: 1500)
        ledger.delivered(0, at: 1700)
        ledger.delivered(0, at: 9000)
        #expect(ledger.repeatedCount == 1 && ledger.deliveredCount == 1 && ledger.deliveries.max == 700)
    }

    @Test func `latencies count from the planned moment`() {
        var ledger = ledger()
        ledger.answered(2, 200, at: 1400)
        ledger.delivered(2, at: 1300)
        #expect(ledger.answers.max == 400 && ledger.deliveries.max == 300)
    }

    @Test func `a number that was never sent is nobody's`() {
        var ledger = PushLedger(count: 2)
        ledger.delivered(1, at: 5)
        ledger.delivered(7, at: 5)
        #expect(ledger.deliveredCount == 0 && ledger.repeatedCount == 0)
    }

    @Test func `a reset counts as status zero`() {
        var ledger = ledger()
        ledger.answered(0, 0, at: 1500)
        #expect(ledger.statuses[0] == 1 && ledger.owedCount == 0)
    }
}
