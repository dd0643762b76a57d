import PushCore
import Testing

@testable import Gateway

@Suite struct HandshakeQueueTests {
    /// What one turn takes.
    private static let turn = UInt64(Limits.handshakesPerTurn)

    @Test func `fifty turns take fifty times what one may, in their order`() {
        var queue = HandshakeQueue()
        for token in 0..<50 * Self.turn { queue.add(token) }
        var taken: [UInt64] = []
        var turns = 0
        while !queue.isEmpty {
            let turn = queue.take()
            #expect(turn.count <= Limits.handshakesPerTurn)
            taken += turn
            turns += 1
        }
        #expect(taken == Array(0..<50 * Self.turn) && turns == 50)
    }

    @Test func `one that waits asks again in vain, and keeps its place`() {
        var queue = HandshakeQueue()
        let tokens = 0..<Self.turn + 2
        for token in tokens { queue.add(token) }
        for token in tokens.reversed() { queue.add(token) }
        #expect(queue.take() == Array(tokens.prefix(Limits.handshakesPerTurn)))
        #expect(queue.take() == Array(tokens.suffix(2)))
        #expect(queue.isEmpty && queue.take().isEmpty)
    }

    @Test func `one that had its turn may ask for the next`() {
        var queue = HandshakeQueue()
        queue.add(7)
        #expect(queue.take() == [7])
        queue.add(7)
        #expect(queue.take() == [7])
    }
}
