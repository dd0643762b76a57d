import PushCore
import Storage
import Wire

/// A live session as its home sees it: which connection it is, and how much may be framed for it.
final class SessionLink {
    let connection: UInt64
    /// Bytes that may still be framed; the owner of the connection keeps it up to date.
    var room = Limits.unsentBytes
    let connectedAt: Moment
    /// What its last Filter says, also about topics that have no registration.
    var modes = TopicModes()

    init(connection: UInt64, connectedAt: Moment) {
        self.connection = connection
        self.connectedAt = connectedAt
    }
}

/// What a Filter says, as long as its session lasts: a list, which takes a third of a small dictionary's memory. It is
/// looked at when a registration is made.
struct TopicModes {
    private let list: [(hash: TopicHash, mode: TopicMode)]

    init(_ modes: [TopicHash: TopicMode] = [:]) { list = modes.map { ($0, $1) } }

    subscript(hash: TopicHash) -> TopicMode? { list.first { $0.hash == hash }?.mode }
}

/// One registration at home.
final class RegistrationState {
    var record: Registration
    /// nil once its app was removed.
    let topic: Topic?
    /// What its notifications have in common; nil when none can come.
    let route: NotifyRoute?
    /// Strong both ways: a device made for one registration has no other owner. `revoke` cuts the circle.
    let owner: DeviceState
    /// Whether the store has it: before, nobody may be told its token.
    var isDurable = true
    /// Pushes in the second that `rateSecond` names, for `provider.tokenRate`.
    var rateSecond: UInt32 = 0
    var rateCount: UInt32 = 0

    init(_ record: Registration, topic: Topic?, owner: DeviceState) {
        self.record = record
        self.topic = topic
        if let topic, let device = owner.record, record.state == .active {
            route = NotifyRoute(
                token: record.token.bytes,
                topicHash: topic.hash,
                baseToken: device.baseToken.bytes,
                topicName: topic.name
            )
        } else {
            route = nil
        }
        self.owner = owner
    }

    var number: UInt64 { record.number }
}

/// One device at home: its queue, its session, its registrations that have not ended. Registrations made without a
/// device have one each.
final class DeviceState {
    /// Its base token never changes.
    var record: Device?
    var queue: DeviceQueue
    var registrations: [RegistrationState] = []
    var session: SessionLink?
    var unanswered = UnansweredPushes()
    var lastSeenAt: Moment?
    /// It is among `Home.holders`.
    var isHolder = false
    /// The store has been asked for payloads that it waits for.
    var isReading = false
    var nonces = RecentNonces()

    init(record: Device?, policy: QueuePolicy) {
        self.record = record
        queue = DeviceQueue(policy: policy)
    }

    func registration(numbered number: UInt64) -> RegistrationState? {
        registrations.first { $0.number == number }
    }
}

/// Where a push is found: its device and its number. It may have ended.
struct PushAddress {
    let number: UInt64
    let device: DeviceState
}

/// Registrations that have ended: their tokens are remembered for a year, unless there are too many.
struct EndedRegistrations {
    /// In the order of their ends, oldest first from `start` on; not so after a start, until the first look.
    private var list: [RegistrationState] = []
    private var start = 0
    private var isSorted = true

    mutating func add(_ registration: RegistrationState) {
        if let last = list.last, registration.endedAt < last.endedAt { isSorted = false }
        list.append(registration)
    }

    /// Takes one that need not be remembered any longer; nil when there is none.
    mutating func takeOldest(at now: Moment, limit: Int) -> RegistrationState? {
        if !isSorted {
            list.removeFirst(start)
            start = 0
            list.sort { $0.endedAt < $1.endedAt }
            isSorted = true
        }
        guard start < list.count, list.count - start > limit || now - list[start].endedAt > Limits.revokedMemory else {
            // Taken one by one, removed together.
            list.removeFirst(start)
            start = 0
            return nil
        }
        start += 1
        return list[start - 1]
    }
}

extension RegistrationState {
    /// When it ended; when it was made, if that was not told.
    var endedAt: Moment { record.revokedAt ?? record.createdAt }
}

/// What a home asks its loop to do, in order.
enum HomeEffect {
    /// Gives a push to the session of a connection.
    case notify(connection: UInt64, OutgoingNotification)
    /// The session may have something to do sooner than it had.
    case deadlineMoved(SessionLink)
    case endSession(SessionLink, reason: StaticString)
    case tokenGone(SessionLink, RegistrationState)
}
