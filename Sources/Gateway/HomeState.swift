import PushCore
import Storage

/// A live session as its home sees it: which connection it is, and how much may be framed for it.
final class SessionLink {
    let connection: UInt64
    /// Bytes that may still be framed; the owner of the connection keeps it up to date.
    var room = Limits.unsentBytes
    let connectedAt: Moment

    init(connection: UInt64, connectedAt: Moment) {
        self.connection = connection
        self.connectedAt = connectedAt
    }
}

/// One registration at home.
final class RegistrationState {
    var record: Registration
    /// nil once its app was removed.
    let topic: Topic?
    /// Strong both ways: a device made for one registration has no other owner. `forget` cuts the circle.
    let owner: DeviceState
    /// Pushes in the second that `rateSecond` names, for `provider.tokenRate`.
    var rateSecond: Int64 = 0
    var rateCount = 0

    init(_ record: Registration, topic: Topic?, owner: DeviceState) {
        self.record = record
        self.topic = topic
        self.owner = owner
    }
}

/// One device at home: its registrations, its queue, its session. Registrations made without a device have one each.
final class DeviceState {
    var record: Device?
    var queue: DeviceQueue
    var registrations: [RegistrationState] = []
    var session: SessionLink?
    var lastSeenAt: Moment?
    private var nonces: [(nonce: [UInt8], at: Moment)] = []

    init(record: Device?, policy: QueuePolicy) {
        self.record = record
        queue = DeviceQueue(policy: policy)
    }

    func registration(numbered number: UInt64) -> RegistrationState? {
        registrations.first { $0.record.number == number }
    }

    /// Remembers the nonce of a Connect; false if it was used before, or too many are remembered.
    func admit(nonce: [UInt8], at now: Moment) -> Bool {
        nonces.removeAll { now - $0.at > Limits.nonceTolerance + Limits.nonceTolerance }
        guard nonces.count < Limits.rememberedNonces, !nonces.contains(where: { $0.nonce == nonce }) else {
            return false
        }
        nonces.append((nonce, now))
        return true
    }
}

/// What a home asks its loop to do, in order.
enum HomeEffect {
    case answer(PushAnswer, ReplyAddress)
    case notify(SessionLink, Push, StorageFlag, RegistrationState)
    case endSession(SessionLink, reason: StaticString)
    case tokenGone(SessionLink, RegistrationState)
}

extension Interval {
    static func + (a: Interval, b: Interval) -> Interval { Interval(nanoseconds: a.nanoseconds + b.nanoseconds) }
}
