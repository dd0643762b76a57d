import Testing

@testable import carillon

@Suite struct FileLookTests {
    private static func mark(_ number: UInt64) -> FileMark { FileMark(file: [1, number, 10], times: [1, 2, 3, 4]) }

    /// Which of these looks, one after the other, have found a change; nothing was there before them.
    private func changes(_ looks: [UInt64?]...) -> [Bool] {
        var look = FileLook([])
        return looks.map { marks in look.hasChanged(to: marks.map { $0.map(Self.mark) }) }
    }

    @Test func `a change counts once and when it stands still`() {
        #expect(changes([1, 2], [1, 2], [1, 2]) == [false, true, false])
    }

    @Test func `a change that goes on is waited for`() {
        #expect(changes([1], [2], [3], [4], [4]) == [false, false, false, false, true])
    }

    @Test func `a file that goes and one that comes are changes`() {
        #expect(changes([1], [1], [nil], [nil], [1], [1]) == [false, true, false, true, false, true])
    }

    @Test func `what comes back as it was is no change`() {
        #expect(changes([1], [], []) == [false, false, false])
    }
}
