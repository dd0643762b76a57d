import PushCore
import Testing

@testable import Gateway

@Suite struct TimestampTests {
    static let known: [(milliseconds: Int64, text: String)] = [
        (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"), (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
        (4_107_542_399_000, "2100-02-28T23:59:59.000Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (-6_213_559_680_000, "1773-02-05T19:12:00.000Z"),
    ]

    @Test(arguments: known)
    func `a moment reads as RFC 3339 in UTC`(_ milliseconds: Int64, _ text: String) {
        #expect(timestamp(Moment(milliseconds: milliseconds)) == text)
    }

    @Test func `the last moment has a date too`() {
        #expect(timestamp(.distantFuture) == "2262-04-11T23:47:16.854Z")
    }

    @Test func `people are shown seconds, also far beyond the last moment`() {
        #expect(shownUTC(seconds: 1_700_000_000) == "2023-11-14 22:13:20 UTC")
        #expect(shownUTC(seconds: 253_402_300_799) == "9999-12-31 23:59:59 UTC")
        #expect(Moment(seconds: 253_402_300_799) == .distantFuture)
    }

    @Test func `the days of four hundred years follow each other`() {
        var last = ""
        for day in 0..<Int64(146_097 / 4) {
            let text = timestamp(Moment(seconds: day * 86_400))
            #expect(text > last && text.hasSuffix("T00:00:00.000Z"))
            last = text
        }
    }
}
