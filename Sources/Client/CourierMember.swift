/// One device of a fleet.
struct CourierMember {
    /// How far its connection has come.
    enum Phase {
        /// Not connected.
        case away
        case handshaking
        /// Connect was sent.
        case introduced
        /// The gateway has accepted it.
        case connected
        /// It has its token, and its topic is enabled.
        case ready
    }

    let credentials: CourierCredentials
    var conversation: CourierConversation
    var backoff = CourierBackoff()
    var phase = Phase.away
    private(set) var link: CourierLink?
    /// When the connection began, in monotonic nanoseconds; in the distant future when there is none.
    private(set) var began: Int64 = .max
    /// When something must be done about it: connect, give a sign of life, or give up.
    var deadline: Int64 = .max
    var isWatchingWrites = false

    init(credentials: CourierCredentials, conversation: CourierConversation) {
        self.credentials = credentials
        self.conversation = conversation
    }

    mutating func begin(_ link: CourierLink, at now: Int64) {
        self.link = link
        began = now
        phase = .handshaking
        isWatchingWrites = false
    }

    mutating func end() {
        link = nil
        began = .max
        phase = .away
    }
}
