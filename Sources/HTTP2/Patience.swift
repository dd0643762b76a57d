/// How much a peer may send that costs something and brings nothing: PING, SETTINGS, empty DATA, broken requests.
///
/// Each costs what it costs us. Time and answered requests make up for it, so that a client that keeps its connection
/// alive, or sends frames of its own with each request, never runs out (docs/decisions/0035-patience.md).
struct Patience {
    /// What may be owed.
    let limit: Int
    /// Given back for each second.
    let perSecond: Int
    /// Given back for each answer: a client may send so many small frames about each request.
    let perAnswer: Int
    private(set) var owed = 0
    private var second = 0

    init(_ limits: HTTP2Limits) {
        limit = limits.patience
        perSecond = limits.patiencePerSecond
        perAnswer = limits.patiencePerAnswer
    }

    /// It is this second now, of any clock; one that goes back gives nothing.
    mutating func pass(to now: Int) {
        if now > second, owed > 0 {
            let (given, isTooLarge) = (now - second).multipliedReportingOverflow(by: perSecond)
            owed = isTooLarge ? 0 : max(0, owed - given)
        }
        second = now
    }

    mutating func answered() { owed = max(0, owed - perAnswer) }

    /// False once the peer owes more than the limit.
    mutating func spend(_ cost: Int) -> Bool {
        owed += cost
        return owed <= limit
    }

    /// What a frame costs: nothing if it may be part of a request.
    static func cost(_ type: UInt8, _ flags: UInt8, length: Int) -> Int {
        switch type {
        case FrameType.headers, FrameType.continuation: 0
        // Padding around nothing is nothing, too.
        case FrameType.data:
            flags & FrameFlag.endStream == 0 && (length == 0 || flags & FrameFlag.padded != 0) ? 1 : 0
        // It may change the window of each open stream. Honest clients send one or two.
        case FrameType.settings where flags & FrameFlag.acknowledge == 0: 100
        default: 1
        }
    }
}
