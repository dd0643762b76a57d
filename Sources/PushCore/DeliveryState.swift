/// What became of a push: Apple's ten states (Viewing the status of push notifications using Metrics and APNs) and
/// two of ours. One vocabulary for log, admin API and command line; the raw value is the word.
package enum DeliveryState: String, Sendable, CaseIterable {
    case received
    case delivered
    case deliveredFromStorage = "delivered-from-storage"
    case storedOffline = "stored-offline"
    case storedPower = "stored-power"
    case discardedUnregistered = "discarded-unregistered"
    case discardedUnregisteredFromStorage = "discarded-unregistered-from-storage"
    case discardedExpired = "discarded-expired"
    case discardedDisabled = "discarded-disabled"
    case discardedDisabledFromStorage = "discarded-disabled-from-storage"
    case discardedReplaced = "discarded-replaced"
    case discardedUndeliverable = "discarded-undeliverable"

    /// Whether it will not be delivered.
    package var isDiscarded: Bool { rawValue.hasPrefix("discarded") }
    /// Nothing more will happen to the push.
    package var isFinal: Bool { isDiscarded || self == .delivered || self == .deliveredFromStorage }
}

/// Why a push was discarded; the raw value is the `cause` of the metric and the log.
package enum DiscardCause: String, Sendable, CaseIterable {
    case expired
    case collapsed
    case queueFull = "queue_full"
    case unregistered
    case refused
    case disabled
    case undeliverable

    /// The state the delivery log shows. `stored` tells whether the push had been waiting.
    package func state(stored: Bool) -> DeliveryState {
        switch self {
        case .expired: .discardedExpired
        case .collapsed, .queueFull: .discardedReplaced
        case .unregistered: stored ? .discardedUnregisteredFromStorage : .discardedUnregistered
        case .disabled: stored ? .discardedDisabledFromStorage : .discardedDisabled
        case .refused, .undeliverable: .discardedUndeliverable
        }
    }
}
