/// How long a device waits before it connects again: 1, 2, 4 ... 60 seconds, and up to a half more by chance, so that
/// devices that lost their gateway together do not come back together.
struct CourierBackoff {
    static let limitSeconds = 60.0
    /// A connection that lasted this long was a good one. Shorter ones go on slowing down, or two devices with one
    /// identity would throw each other out every second.
    static let goodNanoseconds: Int64 = 30_000_000_000

    private var seconds = 1.0

    /// The wait before the next attempt. `chance` is 0..<1; `hint` is what the gateway asked for, which it has spread.
    mutating func next(afterNanoseconds lasted: Int64, hint: UInt32?, chance: Double) -> Double {
        if lasted >= Self.goodNanoseconds { seconds = 1 }
        let wait = seconds * (1 + chance / 2)
        seconds = min(seconds * 2, Self.limitSeconds)
        return hint.map { Double(min($0, 86_400)) } ?? wait
    }
}
