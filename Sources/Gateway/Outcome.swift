import PushCore

/// What has become of a push, and why.
struct Outcome {
    let state: DeliveryState
    let cause: DiscardCause?

    init(_ state: DeliveryState) { (self.state, cause) = (state, nil) }

    init(_ cause: DiscardCause, fromStorage: Bool) {
        (state, self.cause) = (cause.state(stored: fromStorage), cause)
    }
}
