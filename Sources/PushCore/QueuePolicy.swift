/// What an operator decides about queues and delivery; see the settings of the same names.
package struct QueuePolicy: Equatable, Sendable {
    /// Which pushes a device that is away gets later.
    package enum Mode: String, Sendable, CaseIterable {
        /// All of them, up to the limit.
        case queue
        /// One stored notification per device and app, the newest, whatever its priority.
        case apple
    }

    /// `queue.mode`.
    package var mode = Mode.queue
    /// Stored per registration without a live session that enables its topic.
    package var limit = 100
    /// Waiting per registration with one; past it a new push is refused.
    package var backlog = 1000
    /// Unacknowledged per session.
    package var window = 32
    /// After this long a push is sent again.
    package var acknowledgementTimeout = Interval.seconds(60)
    /// How long priority 5 may wait for a sleeping device.
    package var lowPriorityDelay = Interval.seconds(30)

    #if PLANTED_FAULTS
        /// What a simulation must find; see docs/testing.md.
        package var fault: PlantedFault?
    #endif

    package init() {}
}

#if PLANTED_FAULTS
    /// A fault that is there on purpose, to show that the simulation finds it. No product is built with them.
    package enum PlantedFault: String, Sendable, CaseIterable {
        /// The store is not told that a push has ended.
        case acknowledgementLost = "ack-lost"
        /// What was in flight when a session ended waits twice.
        case deliveredTwice = "double-delivery"
        /// Of two pushes with one collapse id the older stays.
        case collapsedWrongWay = "collapse-wrong-way"
        /// What expired while it waited is sent.
        case expiredSent = "expired-sent"
        /// One more is stored than the limit allows.
        case limitExceeded = "queue-bound"
    }
#endif

/// What a device's Filter says about a topic (docs/device-protocol.md).
package enum TopicMode: Sendable {
    /// Not in the Filter, or there is no session: stored.
    case unlisted
    case enabled
    /// Delivered, but priority 5 and 1 wait for an awake device.
    case opportunistic
    /// Stored.
    case paused
    /// Discarded.
    case ignored

    /// Whether the session takes pushes of the topic at all.
    package var delivers: Bool { self == .enabled || self == .opportunistic }
}

/// Item 7 of a notification.
package enum StorageFlag: UInt8, Sendable {
    case live = 0
    case stored = 1
    case lastStored = 3
}

/// What the owner of a queue must do, in order.
package enum QueueEffect {
    /// Frame the push and write it.
    case send(QueuedPush, StorageFlag)
    /// The same, once more, because no acknowledgement came.
    case resend(QueuedPush, StorageFlag)
    /// It waits for a session, or for the device to wake: for the delivery log.
    case stored(QueuedPush, DeliveryState)
    /// The device acknowledged it.
    case delivered(QueuedPush, fromStorage: Bool)
    case discarded(QueuedPush, DiscardCause, fromStorage: Bool)
    /// It has left the queue for newer ones: it is discarded when that is certain, and is put back if it is undone.
    case replaced(QueuedPush, DiscardCause, Replacement, fromStorage: Bool)
    /// It is in flight and will never be sent again, not after a restart either: its number.
    case obsolete(UInt64)
    /// The device says that the registration's app is gone.
    case revoked(registration: UInt64)
    /// The device does not acknowledge: end its session.
    case closeSession
}

/// What became of a push that was offered to a queue.
package enum QueueVerdict: Equatable, Sendable {
    /// Sent or waiting: it must be made durable unless it is acknowledged first.
    case accepted
    /// Done with: expired at once, or the device ignores the topic.
    case discarded
    /// Sent with the next `pump` or discarded by it, never stored: its expiration was 0 or past.
    case once
    /// The device is present and too much waits: nothing was kept.
    case tooMany
}
