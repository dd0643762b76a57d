package import PushCore

/// Something that happened to a push.
package struct DeliveryEvent: Sendable {
    /// The push itself: at least with its first event since this process started.
    package var push: Push?
    package let number: UInt64
    package let at: Moment
    package let state: DeliveryState
    package let cause: DiscardCause?
    package let device: DeviceID?
    package let topic: String?
    package let tokenPrefix: String?

    /// `device`, `topic` and `tokenPrefix` belong to `push`: with it or not at all.
    package init(
        push: Push?,
        number: UInt64,
        at: Moment,
        state: DeliveryState,
        cause: DiscardCause? = nil,
        device: DeviceID? = nil,
        topic: String? = nil,
        tokenPrefix: String? = nil
    ) {
        self.push = push
        self.number = number
        self.at = at
        self.state = state
        self.cause = cause
        self.device = device
        self.topic = topic
        self.tokenPrefix = tokenPrefix
    }
}

/// One step in the life of a push.
package struct DeliveryChange: Equatable, Sendable {
    package let at: Moment
    package let state: DeliveryState
    /// The raw value of the `DiscardCause`.
    package let cause: String?

    package init(at: Moment, state: DeliveryState, cause: String?) {
        self.at = at
        self.state = state
        self.cause = cause
    }
}

/// What the delivery log knows of a push.
package struct DeliveryRecord: Equatable, Sendable {
    package let number: UInt64
    package let apnsID: String
    /// 36 characters, lowercase, 8-4-4-4-12.
    package let uniqueID: String
    package let registration: UInt64
    package let tokenPrefix: String
    package let device: String?
    package let topic: String
    package let pushType: String?
    package let priority: Int
    /// Unix seconds; nil for a push that never expires.
    package let expiration: Int64?
    package let collapseID: String?
    /// Bytes of the payload.
    package let size: Int
    package let acceptedAt: Moment
    /// Where it stands: the state and cause of the last change.
    package internal(set) var state: DeliveryState
    package internal(set) var cause: String?
    package internal(set) var changes: [DeliveryChange]

    /// The record as it was before its last `count` changes; nil if it has no more.
    func before(last count: Int) -> DeliveryRecord? {
        guard let latest = changes.dropLast(count).last else { return nil }
        var earlier = self
        earlier.changes.removeLast(count)
        (earlier.state, earlier.cause) = (latest.state, latest.cause)
        return earlier
    }
}

/// Which records to find. Every filter that is set must fit; the newest come first.
package struct DeliveryQuery: Sendable {
    package var apnsID: String?
    /// 32 hexadecimal digits, with or without hyphens.
    package var uniqueID: String?
    package var registration: UInt64?
    package var topic: String?
    package var state: DeliveryState?
    /// Only records with a lower number: the last one of the page before.
    package var after: UInt64?
    package var limit: Int

    package init(
        apnsID: String? = nil,
        uniqueID: String? = nil,
        registration: UInt64? = nil,
        topic: String? = nil,
        state: DeliveryState? = nil,
        after: UInt64? = nil,
        limit: Int = 100
    ) {
        self.apnsID = apnsID
        self.uniqueID = uniqueID
        self.registration = registration
        self.topic = topic
        self.state = state
        self.after = after
        self.limit = limit
    }
}
