import PushCore

/// The small numbers that stand for states and causes in the log's file, and the form of a push's changes there: ten
/// bytes each, the time in nanoseconds, big-endian, the state and the cause.
package enum DeliveryCode {
    /// The place is the number; add to the end, never reorder.
    static let states: [DeliveryState] = [
        .received, .delivered, .deliveredFromStorage, .storedOffline, .storedPower, .discardedUnregistered,
        .discardedUnregisteredFromStorage, .discardedExpired, .discardedDisabled, .discardedDisabledFromStorage,
        .discardedReplaced, .discardedUndeliverable,
    ]
    /// The place plus one is the number; 0 is no cause.
    static let causes: [DiscardCause] = [
        .expired, .collapsed, .queueFull, .unregistered, .refused, .disabled, .undeliverable,
    ]

    /// Bytes of a change.
    package static let changeSize = 10
    /// Changes kept of a push: what redelivery and a few moves between states need. Past it the last one is replaced.
    static let changeLimit = 32

    static func number(_ state: DeliveryState) -> UInt8 {
        guard let index = states.firstIndex(of: state) else { preconditionFailure("a state without a number") }
        return UInt8(index)
    }

    static func number(_ cause: DiscardCause?) -> UInt8 {
        guard let cause else { return 0 }
        guard let index = causes.firstIndex(of: cause) else { preconditionFailure("a cause without a number") }
        return UInt8(index + 1)
    }

    static func append(_ event: DeliveryEvent, to bytes: inout [UInt8]) {
        if bytes.count >= changeLimit * changeSize { bytes.removeLast(changeSize) }
        let time = UInt64(bitPattern: event.at.nanoseconds)
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: time >> shift)) }
        bytes.append(number(event.state))
        bytes.append(number(event.cause))
    }

    /// nil if `bytes` are not changes.
    package static func changes(_ bytes: [UInt8]) -> [DeliveryChange]? {
        guard !bytes.isEmpty, bytes.count % changeSize == 0 else { return nil }
        var changes: [DeliveryChange] = []
        for start in stride(from: 0, to: bytes.count, by: changeSize) {
            let time = bytes[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let (state, cause) = (Int(bytes[start + 8]), Int(bytes[start + 9]))
            guard state < states.count, cause <= causes.count else { return nil }
            changes.append(
                DeliveryChange(
                    at: Moment(nanoseconds: Int64(bitPattern: time)),
                    state: states[state],
                    cause: cause == 0 ? nil : causes[cause - 1].rawValue
                )
            )
        }
        return changes
    }
}
