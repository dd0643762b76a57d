import Testing

@testable import Client

@Suite struct CourierBackoffTests {
    @Test func `waits double up to a minute`() {
        var backoff = CourierBackoff()
        let waits = (0..<8).map { _ in backoff.next(afterNanoseconds: 0, hint: nil, chance: 0) }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test func `chance adds up to a half`() {
        var backoff = CourierBackoff()
        #expect(backoff.next(afterNanoseconds: 0, hint: nil, chance: 0.5) == 1.25)
    }

    @Test func `a good connection begins again at a second, a short one does not`() {
        var backoff = CourierBackoff()
        _ = backoff.next(afterNanoseconds: 0, hint: nil, chance: 0)
        #expect(backoff.next(afterNanoseconds: 29_000_000_000, hint: nil, chance: 0) == 2)
        #expect(backoff.next(afterNanoseconds: 30_000_000_000, hint: nil, chance: 0) == 1)
    }

    @Test func `the gateway's wish counts, up to a day`() {
        var backoff = CourierBackoff()
        #expect(backoff.next(afterNanoseconds: 0, hint: 7, chance: 0.9) == 7)
        #expect(backoff.next(afterNanoseconds: 0, hint: .max, chance: 0.9) == 86_400)
    }
}
