import Reactor
import Testing

@Suite struct DeadlinesTests {
    @Test func `nothing is due before its time`() {
        var deadlines = Deadlines()
        #expect(deadlines.next == nil)
        #expect(deadlines.popDue(at: .max) == nil)
        deadlines.add(1, at: 10)
        #expect(deadlines.next == 10)
        #expect(deadlines.popDue(at: 9) == nil)
        #expect(deadlines.popDue(at: 10) == 1)
        #expect(deadlines.isEmpty)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4, 5])
    func `tokens come out in the order of their deadlines`(_ seed: UInt64) {
        var (deadlines, state) = (Deadlines(), seed)
        var expected: [Int64] = []
        for token in 0..<500 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let at = Int64(state >> 56)
            expected.append(at)
            deadlines.add(UInt64(token), at: at)
        }
        var order: [Int64] = []
        var tokens: Set<UInt64> = []
        while let token = deadlines.popDue(at: .max) {
            order.append(expected[Int(token)])
            tokens.insert(token)
        }
        #expect(order == expected.sorted())
        #expect(tokens.count == 500)
    }
}
