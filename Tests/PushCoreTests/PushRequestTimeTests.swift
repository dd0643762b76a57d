import PushCore
import TestSupport
import Testing

/// What docs/provider-api.md says of `apns-expiration` and `apns-priority`.
@Suite struct PushRequestTimeTests {
    let now = Sample.now

    @Test(arguments: [("10", Priority.immediate), ("5", .powerAware), ("1", .powerFirst)])
    func `three priorities are known`(_ text: String, _ priority: Priority) throws {
        #expect(try SampleRequest([.priority: text]).parsed().priority == priority)
    }

    @Test(arguments: ["", "0", "7", "high", "010", "10.0", " 10", "10 ", "+10", "-1", "100", "１０", "abc"])
    func `any other priority is bad`(_ text: String) {
        #expect(throws: Rejection.badPriority) { try SampleRequest([.priority: text]).parsed() }
    }

    @Test func `without a priority it is 10`() throws {
        #expect(try SampleRequest([.pushType: "alert"]).parsed().priority == .immediate)
        #expect(try SampleRequest().parsed().priority == .immediate)
    }

    @Test func `background is 5 when nothing is said`() throws {
        #expect(try SampleRequest([.pushType: "background"]).parsed().priority == .powerAware)
    }

    @Test(arguments: ["10", "1"])
    func `background may be nothing but 5`(_ text: String) {
        #expect(throws: Rejection.badPriority) {
            try SampleRequest([.pushType: "background", .priority: text]).parsed()
        }
    }

    @Test func `without a type 10 is good for background content too`() throws {
        #expect(try SampleRequest([.priority: "10"]).parsed().priority == .immediate)
    }

    @Test(arguments: ["0", "1", "00", "1700000060", "1700000000000", "9999999999999999999"])
    func `whole seconds up to 19 digits are good`(_ text: String) throws {
        #expect(try SampleRequest([.expiration: text]).parsed().expiration == UInt64(text))
    }

    @Test(arguments: [
        "", "1518182259.475", "tomorrow", "-1", "+1", " 1", "1 ", "1e9", "0x1", "18446744073709551615",
        "1111111111111111111111111", "١",
    ])
    func `anything else is a bad expiration`(_ text: String) {
        #expect(throws: Rejection.badExpirationDate) { try SampleRequest([.expiration: text]).parsed() }
    }

    @Test(arguments: [nil, "1700003600000", "9999999999999999999", "1705184000"])
    func `none, milliseconds and what is too far are kept for the longest time`(_ text: String?) throws {
        let request = try SampleRequest([.expiration: text]).parsed()
        #expect(request.expires(acceptedAt: now, maximumAge: .days(30)) == now + .days(30))
    }

    @Test func `a moment within reach is taken as it is`() throws {
        let request = try SampleRequest([.expiration: "1700000060"]).parsed()
        #expect(request.expires(acceptedAt: now, maximumAge: .days(30)) == now + .seconds(60))
    }

    @Test(arguments: ["0", "1699999940", "1700000000"])
    func `0 and what is not ahead mean once`(_ text: String) throws {
        let expires = try SampleRequest([.expiration: text]).parsed().expires(acceptedAt: now, maximumAge: .days(30))
        #expect(Sample.push(1, expires: expires, at: now).isOnce)
    }
}
