import PushCore

/// Objects and memory of pushes that have ended, for those to come (docs/decisions/0017-pushes-are-values.md).
struct SparePushes {
    private var ended: [QueuedPush] = []
    private var objects: [QueuedPush] = []
    private var rooms: [[UInt8]] = []

    /// An object for a push.
    mutating func queued(_ push: Push) -> QueuedPush {
        guard let queued = objects.popLast() else { return QueuedPush(push) }
        queued.become(push)
        return queued
    }

    /// Memory for the content of a push.
    mutating func takeRoom() -> [UInt8] { rooms.popLast() ?? [] }

    /// A push has ended; something may still hold it.
    mutating func ended(_ queued: QueuedPush) { ended.append(queued) }

    /// Keeps what has ended, but for what something still holds, as a connection may.
    mutating func recycle() {
        while var queued = ended.popLast() {
            guard objects.count < Limits.sparePushes, isKnownUniquelyReferenced(&queued) else { continue }
            let room = queued.takeRoom()
            if rooms.count < Limits.sparePushes { rooms.append(room) }
            objects.append(queued)
        }
    }
}
