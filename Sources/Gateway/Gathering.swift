import PushCore

/// Decides at the end of each turn of a loop whether what devices are told is written now. Under load it waits some
/// turns, so that more notifications share a record and a write.
struct Gathering {
    private var turns = 0
    /// Whether the last turn was one of many requests.
    private(set) var isLoaded = false

    /// Whether something waits for the next turn.
    var isWaiting: Bool { turns > 0 }

    /// `requests` is how many the turn has taken in.
    mutating func mustWait(afterRequests requests: Int) -> Bool {
        isLoaded = requests >= Limits.gatherAbove
        turns = isLoaded && turns < Limits.gatherTurns ? turns + 1 : 0
        return isWaiting
    }
}
