import Testing

@testable import Gateway

@Suite struct TokenLineTests {
    /// One whose answers may stand in an expectation.
    private final class Line {
        private var line = TokenLine()
        var count: Int { line.count }
        func add(_ tokens: UInt64...) { for token in tokens { line.add(token) } }
        func remove(_ token: UInt64) { line.remove(token) }
        func first() -> UInt64? { line.first() }
        func first(above token: UInt64) -> UInt64? { line.first { $0 > token } }
    }

    @Test func `the first is whoever came first and has not left`() {
        let line = Line()
        line.add(5, 3, 4, 3)
        #expect(line.count == 3 && line.first() == 5)
        line.remove(5)
        line.remove(5)
        #expect(line.first() == 3 && line.first(above: 3) == 4 && line.first(above: 4) == nil)
    }

    @Test func `who comes back is last`() {
        let line = Line()
        line.add(1, 2)
        #expect(line.first() == 1)
        line.remove(1)
        line.add(1)
        #expect(line.first() == 2)
        line.remove(2)
        #expect(line.first() == 1 && line.count == 1)
    }

    @Test func `a hundred thousand that pass one who stays leave its place`() {
        let line = Line()
        line.add(0)
        for token in 1...100_000 as ClosedRange<UInt64> {
            line.add(token)
            line.remove(token)
        }
        #expect(line.first() == 0 && line.count == 1)
    }
}
