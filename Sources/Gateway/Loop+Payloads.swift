import PushCore
import Reactor
import Storage

// Payloads that only the store has (docs/decisions/0018-young-payloads.md).
extension Loop {
    /// Asks the store for what the home wants, in pieces between which it may write. A device's pushes stay together.
    func readPayloads() {
        var piece: [PushAddress] = []
        for push in home.takeWanted() {
            if piece.count >= Limits.payloadsPerRead, piece.last?.device !== push.device {
                read(piece)
                piece = []
            }
            piece.append(push)
        }
        if !piece.isEmpty { read(piece) }
    }

    /// Asks again for what could not be read, for each device by itself: one bad row must not hold up the others.
    func readAgain() {
        for device in home.takeUnread() {
            readPayloads()
            home.goOn(device, at: now)
        }
        readPayloads()
    }

    private func read(_ pushes: [PushAddress]) {
        let batch = nextBatch()
        reads[batch] = pushes
        let mailbox = shared.mailboxes[index]
        shared.store.read(pushes.map(\.number)) { mailbox.post(.loaded(batch: batch, $0)) }
    }

    /// The store has answered.
    func loaded(_ batch: UInt64, _ payloads: Result<[[UInt8]?], StoreError>) {
        guard let pushes = reads.removeValue(forKey: batch) else { return }
        switch payloads {
        case .success(let payloads):
            for number in home.loaded(pushes, payloads, at: now) {
                shared.metrics.lostPushes.add(1)
                shared.log.error("the store has lost a push", LogField("number", "\(number)"))
            }
        case .failure(let error):
            shared.metrics.storeReadFailures.add(1)
            shared.log.warning("the store cannot be read", LogField("error", "\(error)"))
            home.failedToLoad(pushes)
        }
        carryOutEffects()
    }
}
