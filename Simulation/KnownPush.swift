import PushCore

/// What the model knows of one push.
struct KnownPush {
    /// How far it has come, as far as the gateway has told.
    enum State: Equatable {
        /// On its way, or refused: the gateway owes nothing.
        case offered
        /// Received: it waits or is in flight, or will come back if what took its place is refused.
        case held
        /// Taken back because the store failed, or gone with a crash before it was promised.
        case gone
        case delivered
        case discarded(DiscardCause)
    }

    let serial: Int
    let device: Int
    let topic: Int
    let collapseID: Int
    let payloadCount: Int
    var state = State.offered
    var number: UInt64 = 0
    var registration: UInt64 = 0
    var priority = Priority.immediate
    var expires = Moment(nanoseconds: 0)
    var acceptedAt = Moment(nanoseconds: 0)
    /// The turn in which it was received.
    var receivedIn = 0
    var endedAt = Moment(nanoseconds: 0)
    /// Its provider has read 200.
    var isPromised = false
    /// The store has it, since then.
    var isStored = false
    var storedAt = Moment(nanoseconds: 0)
    /// The device has said so: with status 0, or another.
    var isAcknowledged = false
    var isRefused = false
    /// A crash came before the store had to know of its end, or of what it replaced, or that it was replaced.
    var isForgotten = false
    /// Checks in a row in which it was not held.
    var absences = 0
    /// Store turns that should have recorded its end, and until when they may fail to.
    var turnsDue = 0
    var dueAt = Moment(nanoseconds: 0)

    var isOnce: Bool { expires <= acceptedAt }
    var isOver: Bool {
        switch state {
        case .delivered, .discarded, .gone: true
        case .offered, .held: false
        }
    }
}

/// What was seen in a device's queue after its last turn.
struct SeenQueue {
    /// A push that was sent and not acknowledged.
    struct Flight: Equatable {
        let number: UInt64
        let deadline: Moment
        let resends: Int
    }

    var flights: [Flight] = []
    var session: UInt64?
    var isAwake: Bool?
    var modes: [TopicMode] = []
}

/// What must not be: the one sentence, and whose.
struct Complaint: Error, CustomStringConvertible {
    let description: String
    let device: Int
    /// The push that it is about, if it is about one.
    let serial: Int

    init(_ description: String, device: Int = -1, serial: Int = -1) {
        self.description = description
        self.device = device
        self.serial = serial
    }
}
