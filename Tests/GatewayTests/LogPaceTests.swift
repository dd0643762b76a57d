import PushCore
import Testing

@testable import Gateway

@Suite struct LogPaceTests {
    private static let start = Moment(seconds: 1000)

    @Test func `the first line is let through, the next after a while with how many were left out`() {
        var pace = LogPace(every: .seconds(10))
        let admitted = [0, 1, 9, 10, 20].map { pace.admit(at: Self.start + .seconds($0)) }
        #expect(admitted == [0, nil, nil, 2, 0])
    }

    @Test func `a clock that is set back does not silence it`() {
        var pace = LogPace(every: .seconds(10))
        _ = pace.admit(at: Self.start)
        let admitted = pace.admit(at: Moment(seconds: 5))
        #expect(admitted == 0)
    }
}
