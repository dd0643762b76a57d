/// When a device must give a sign of life, and when the gateway has been silent too long. Times are monotonic
/// nanoseconds.
struct CourierPulse {
    /// How often a device says that it is there. It says so in whole minutes.
    static let intervalMinutes = 1
    /// How long an answer may take: to the handshake and Connect together, and to each sign of life.
    static let patience: Int64 = 15_000_000_000

    private static let interval = Int64(intervalMinutes) * 60_000_000_000

    /// What is to be done now.
    enum Action: Equatable {
        case nothing
        case sendKeepAlive
        case giveUp
    }

    private var nextKeepAlive: Int64
    private var answerDue: Int64?

    /// At the beginning of a connection: the answer to Connect is due.
    init(at now: Int64) {
        nextKeepAlive = now + Self.interval
        answerDue = now + Self.patience
    }

    /// Anything that comes shows that the gateway is there.
    mutating func heard() { answerDue = nil }

    /// What the time demands.
    mutating func check(at now: Int64) -> Action {
        if let answerDue { return answerDue <= now ? .giveUp : .nothing }
        guard nextKeepAlive <= now else { return .nothing }
        nextKeepAlive = now + Self.interval
        answerDue = now + Self.patience
        return .sendKeepAlive
    }
}
