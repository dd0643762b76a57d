import PushCore
import TestSupport
import Testing

@Suite struct ProviderTokenTests {
    let now = Sample.now

    private func token(issued: Interval) -> ProviderToken {
        ProviderToken(keyID: "ABC123DEFG", team: "DEMOTEAM01", issuedAt: now + issued)
    }

    @Test(arguments: [0, 30, -30, 300, -300, 3540, -3599, 3600, -3600])
    func `a token is good for an hour before and after it was issued`(_ seconds: Int64) throws {
        try token(issued: .seconds(seconds)).checkAge(at: now)
    }

    @Test(arguments: [-3601, -3660, -86_400, -9_000_000_000])
    func `an older one has expired`(_ seconds: Int64) {
        #expect(throws: Rejection.expiredProviderToken) { try token(issued: .seconds(seconds)).checkAge(at: now) }
    }

    @Test(arguments: [3601, 3660, 7_000_000_000])
    func `one from further ahead is not valid`(_ seconds: Int64) {
        #expect(throws: Rejection.invalidProviderToken) { try token(issued: .seconds(seconds)).checkAge(at: now) }
    }

    @Test func `as many distinct tokens as the limit pass within 20 minutes`() throws {
        var updates = ProviderTokenUpdates(limit: 2)
        try updates.admit(1, at: now)
        try updates.admit(2, at: now + .seconds(1))
        #expect(throws: Rejection.tooManyProviderTokenUpdates) { try updates.admit(3, at: now + .seconds(2)) }
    }

    @Test func `a token that was seen does not count again`() throws {
        var updates = ProviderTokenUpdates(limit: 2)
        for second in 0..<100 { try updates.admit(UInt64(second % 2), at: now + .seconds(Int64(second))) }
    }

    @Test func `a refused token is not remembered and the connection recovers`() throws {
        var updates = ProviderTokenUpdates(limit: 1)
        try updates.admit(1, at: now)
        for second in 1..<1199 {
            #expect(throws: Rejection.tooManyProviderTokenUpdates) {
                try updates.admit(2, at: now + .seconds(Int64(second)))
            }
        }
        try updates.admit(1, at: now + .seconds(1199))
        try updates.admit(2, at: now + .seconds(1200))
    }

    @Test func `limit 1 lets a provider renew every 20 minutes`() throws {
        var updates = ProviderTokenUpdates(limit: 1)
        for renewal in 0..<10 { try updates.admit(UInt64(renewal), at: now + .seconds(Int64(renewal) * 1200)) }
    }
}
