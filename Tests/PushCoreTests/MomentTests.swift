import PushCore
import TestSupport
import Testing

@Suite struct MomentTests {
    @Test func `a moment is the same in each unit`() {
        #expect(Moment(seconds: 3) == Moment(milliseconds: 3000))
        #expect(Moment(milliseconds: 3) == Moment(nanoseconds: 3_000_000))
        #expect(Moment(nanoseconds: 3_999_999_999).seconds == 3)
        #expect(Moment(nanoseconds: 3_999_999_999).milliseconds == 3999)
    }

    @Test func `a sum beyond the last moment is the last moment`() {
        #expect(Moment.distantFuture + .seconds(1) == .distantFuture)
        #expect(Moment(nanoseconds: .min) + Interval(nanoseconds: -1) == Moment(nanoseconds: .min))
        #expect(Sample.now + .zero == Sample.now)
    }

    @Test func `a difference beyond the longest interval is the longest interval`() {
        #expect(Moment.distantFuture - Moment(seconds: -9) == Interval(nanoseconds: .max))
        #expect(Moment(seconds: -9) - .distantFuture < Interval.seconds(-9_000_000_000))
        #expect(Moment(nanoseconds: .min) - Sample.now == Interval(nanoseconds: .min))
        #expect(Sample.now + .days(1) - Sample.now == .days(1))
    }

    @Test func `intervals add up and saturate`() {
        #expect(Interval.seconds(1) + .milliseconds(500) == .milliseconds(1500))
        #expect(Interval(nanoseconds: .max) + .seconds(1) == Interval(nanoseconds: .max))
        #expect(Interval.milliseconds(1500).fractionalSeconds == 1.5)
        #expect(Interval.days(1).milliseconds == 86_400_000)
    }
}
