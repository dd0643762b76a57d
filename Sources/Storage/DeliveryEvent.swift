package import PushCore

/// Something that happened to a push.
package struct DeliveryEvent: Sendable {
    /// The push itself: at least with its first event since this process started.
    package var push: Push?
    /// The push's number.
    package let number: UInt64
    /// When it happened.
    package let at: Moment
    /// What the push became.
    package let state: DeliveryState
    /// Why it was discarded; nil if it was not.
    package let cause: DiscardCause?
    /// Whose push it is; nil for a registration without a device.
    package let device: DeviceID?
    /// The registration's topic.
    package let topic: String?
    /// What may be shown of the device token.
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
    /// When it happened.
    package let at: Moment
    /// What the push became.
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
    /// The push's number.
    package let number: UInt64
    /// As the provider was told.
    package let apnsID: String
    /// 36 characters, lowercase, 8-4-4-4-12.
    package let uniqueID: String
    /// The number of its registration.
    package let registration: UInt64
    /// What may be shown of the device token.
    package let tokenPrefix: String
    /// Whose push it is; nil for a registration without a device.
    package let device: String?
    /// The registration's topic.
    package let topic: String
    /// As the provider named it; nil if it did not.
    package let pushType: String?
    /// 10, 5 or 1.
    package let priority: Int
    /// Unix seconds; nil for a push that never expires.
    package let expiration: Int64?
    /// nil without one.
    package let collapseID: String?
    /// Bytes of the payload.
    package let size: Int
    /// When it was accepted.
    package let acceptedAt: Moment
    /// Where it stands: the state and cause of the last change.
    package internal(set) var state: DeliveryState
    /// The raw value of the `DiscardCause`; nil if it was not discarded.
    package internal(set) var cause: String?
    /// Everything that happened to it, in order.
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
    /// As the provider was told, of either case.
    package var apnsID: String?
    /// 32 hexadecimal digits, with or without hyphens.
    package var uniqueID: String?
    /// The number of a registration.
    package var registration: UInt64?
    /// The whole name.
    package var topic: String?
    /// Where the push stands.
    package var state: DeliveryState?
    /// Only records with a lower number: the last one of the page before.
    package var after: UInt64?
    /// How many at most.
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
