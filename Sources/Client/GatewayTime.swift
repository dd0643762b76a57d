import Wire

/// What the gateway's clock shows, as far as its answers have told: a nonce must carry the gateway's time.
struct GatewayTime {
    /// In milliseconds, the year 2527. A later time is not believed, for sums with it could overflow.
    private static let limit: UInt64 = 1 << 44

    /// What the gateway's clock is ahead of ours, in milliseconds.
    private var offset: Int64 = 0

    /// Takes the time in an answer, if it has one. `wall` is our own clock in nanoseconds, as in `milliseconds`.
    mutating func follow(_ ack: ConnectAck, at wall: Int64) {
        guard (1..<Self.limit).contains(ack.serverTimeMilliseconds) else { return }
        offset = Int64(ack.serverTimeMilliseconds) - wall / 1_000_000
    }

    /// The gateway's time in milliseconds.
    func milliseconds(at wall: Int64) -> Int64 { wall / 1_000_000 + offset }
}
