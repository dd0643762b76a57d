/// Decides whether a thread looks for work a moment longer before it sleeps. To be woken takes longer than to handle
/// what comes, so a thread that is asked again at once should not have slept; one that is not should sleep at once.
package struct Lookout {
    /// Sleeps to go before it looks again.
    private var pause = 0
    private var nextPause = 1

    /// How many sleeps pass at most before it looks again: so rarely it costs nothing.
    private static let longestPause = 64

    package init() {}

    /// Asked before each sleep.
    package mutating func shouldLook() -> Bool {
        guard pause > 0 else { return true }
        pause -= 1
        return false
    }

    /// Told each time it has looked. Vain looks make the pause after the next one twice as long; of the others each
    /// takes one off, so that a thread which is right less than nine times in ten mostly sleeps.
    package mutating func looked(found: Bool) {
        guard !found else { return nextPause = max(1, nextPause - 1) }
        pause = nextPause
        nextPause = min(2 * nextPause, Self.longestPause)
    }
}
