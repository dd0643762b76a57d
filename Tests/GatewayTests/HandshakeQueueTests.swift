import PushCore
import Testing

@testable import Gateway

@Suite struct HandshakeQueueTests {
    @Test func `two hundred handshakes take fifty turns, in their order`() {
        var queue = HandshakeQueue()
        for token in 0..<UInt64(200) { queue.add(token) }
        var taken: [UInt64] = []
        var turns = 0
        while !queue.isEmpty {
            let turn = queue.take()
            #expect(turn.count <= Limits.handshakesPerTurn)
            taken += turn
            turns += 1
        }
        #expect(taken == Array(0..<200) && turns == 200 / Limits.handshakesPerTurn)
    }

    @Test func `one that waits asks again in vain, and keeps its place`() {
        var queue = HandshakeQueue()
        for token in 0..<UInt64(6) { queue.add(token) }
        for token in (0..<UInt64(6)).reversed() { queue.add(token) }
        #expect(queue.take() == [0, 1, 2, 3])
        #expect(queue.take() == [4, 5])
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
