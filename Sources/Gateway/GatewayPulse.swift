import Reactor
import Storage

/// Whether all of a gateway is alive: its loops and the thread of its store are asked, and all must have turned to it.
/// One that is stuck in a turn answers nothing; one that merely has much to do answers when it comes to it.
package struct GatewayPulse: Sendable {
    private let loops: [Mailbox<LoopMessage>]
    private let store: StoreThread
    /// The last question that each of them has answered.
    private let answered: [AtomicCell]
    private var question = 0

    init(_ shared: LoopShared) {
        loops = shared.mailboxes
        store = shared.store
        answered = (0...loops.count).map { _ in AtomicCell() }
    }

    /// Whether all have answered since the last beat; asks again if so. Who has not is not asked twice, so nothing
    /// piles up.
    package mutating func beat() -> Bool {
        guard answered.allSatisfy({ $0.value == question }) else { return false }
        question += 1
        let (number, last) = (question, answered[loops.count])
        for (mailbox, cell) in zip(loops, answered) { mailbox.post(.perform { _ in cell.set(number) }) }
        store.whenTurned { last.set(number) }
        return true
    }
}
