/// Gives numbers to pushes and registrations of one loop; loops take turns, so that no two give the same.
struct Numbers {
    private var push: UInt64
    private var registration: UInt64
    /// How many loops take turns.
    let stride: UInt64

    /// Numbers above the given ones. `loop` of `loops` gives each `loops`-th.
    init(afterPush push: UInt64, afterRegistration registration: UInt64, loop: Int, of loops: Int) {
        self.push = push + UInt64(loop) + 1
        self.registration = registration + UInt64(loop) + 1
        stride = UInt64(loops)
    }

    mutating func nextPush() -> UInt64 {
        // The id on the device wire is the low half, and it is never 0.
        if UInt32(truncatingIfNeeded: push) == 0 { push += stride }
        defer { push += stride }
        return push
    }

    mutating func nextRegistration() -> UInt64 {
        defer { registration += stride }
        return registration
    }
}
