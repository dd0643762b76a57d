import PushCore
import Reactor
import Storage

// Payloads that only the store has (docs/decisions/0018-young-payloads.md).
extension Loop {
    /// Asks the store for what the home wants, in pieces between which it may write.
    func readPayloads() {
        var wanted = home.takeWanted()[...]
        while !wanted.isEmpty {
            let piece = Array(wanted.prefix(Limits.payloadsPerRead))
            wanted = wanted.dropFirst(piece.count)
            let batch = nextBatch()
            reads[batch] = piece
            let mailbox = shared.mailboxes[index]
            shared.store.read(piece.map(\.number)) { mailbox.post(.loaded(batch: batch, $0)) }
        }
    }

    /// The store has answered.
    func loaded(_ batch: UInt64, _ payloads: Result<[[UInt8]?], StoreError>) {
        guard let pushes = reads.removeValue(forKey: batch) else { return }
        switch payloads {
        case .success(let payloads):
            for number in home.loaded(pushes, payloads, at: now) {
                shared.log.error("the store has lost a push", LogField("number", "\(number)"))
            }
        case .failure(let error):
            shared.log.warning("the store cannot be read", LogField("error", "\(error)"))
            home.failedToLoad(pushes)
        }
        carryOutEffects()
    }
}
