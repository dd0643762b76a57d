import PushCore
import Testing

@Suite struct ReplacementTests {
    @Test func `it is undone when all are refused`() {
        var replacement = Replacement.pending([1, 2])
        #expect(!replacement.refuse(2) && !replacement.refuse(3) && replacement == .pending([1]))
        #expect(replacement.refuse(1) && replacement == .none)
    }

    @Test func `it is certain when one is safe, whatever comes after`() {
        var replacement = Replacement.pending([1, 2])
        #expect(replacement.settle(1) && !replacement.refuse(2) && !replacement.settle(2))
        replacement.add(3)
        #expect(replacement == .certain)
    }

    @Test func `what gives way leaves it to its heir`() {
        var replacement = Replacement.none
        for newer in 1...3 as ClosedRange<UInt64> { replacement.add(newer) }
        replacement.pass(1, to: 3)
        replacement.pass(4, to: 5)
        #expect(replacement == .pending([2, 3]))
        #expect(!replacement.refuse(2) && replacement.settle(3))
    }
}
