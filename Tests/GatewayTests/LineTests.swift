import Testing

@testable import Gateway

@Suite struct LineTests {
    /// One whose answers may stand in an expectation.
    private final class Tokens {
        private var line = Line<UInt64>()
        var count: Int { line.count }
        func add(_ tokens: UInt64...) { for token in tokens { line.add(token) } }
        func remove(_ token: UInt64) { line.remove(token) }
        func first() -> UInt64? { line.first() }
        func first(above token: UInt64) -> UInt64? { line.first { $0 > token } }
        func last() -> UInt64? { line.last() }
    }

    @Test func `the first is whoever came first and has not left`() {
        let line = Tokens()
        line.add(5, 3, 4, 3)
        #expect(line.count == 3 && line.first() == 5)
        line.remove(5)
        line.remove(5)
        #expect(line.first() == 3 && line.first(above: 3) == 4 && line.first(above: 4) == nil)
    }

    @Test func `who comes back is last`() {
        let line = Tokens()
        line.add(1, 2)
        #expect(line.first() == 1 && line.last() == 2)
        line.remove(1)
        line.add(1)
        #expect(line.first() == 2 && line.last() == 1)
        line.remove(2)
        #expect(line.first() == 1 && line.last() == 1 && line.count == 1)
        line.remove(1)
        #expect(line.first() == nil && line.last() == nil)
    }

    @Test func `a hundred thousand that pass one who stays leave its place`() {
        let line = Tokens()
        line.add(0)
        for token in 1...100_000 as ClosedRange<UInt64> {
            line.add(token)
            line.remove(token)
        }
        #expect(line.first() == 0 && line.count == 1)
    }
}
