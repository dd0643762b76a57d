import PushCore

/// What makes a Connect good once: when its device says that it was made, and a random number.
struct ConnectNonce: Equatable, Sendable {
    let made: Moment
    let random: UInt64

    init(made: Moment, random: UInt64) { (self.made, self.random) = (made, random) }

    /// Seventeen bytes: a tag of 0, Unix milliseconds, eight random bytes (docs/device-protocol.md).
    init?(_ bytes: [UInt8]) {
        guard bytes.count == 17, bytes[0] == 0 else { return nil }
        let milliseconds = bytes[1...8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        random = bytes[9...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // More is as wrong as this, and is no moment.
        made = Moment(milliseconds: Int64(min(milliseconds, UInt64(Int64.max / 1_000_000))))
    }
}

/// The nonces of one device's Connects, for as long as they could be shown again. Mostly it is one: that needs no list.
struct RecentNonces {
    private var last = ConnectNonce(made: Moment(nanoseconds: 0), random: 0)
    private var older: [ConnectNonce] = []

    /// Remembers a nonce; false if it was used before, or too many are remembered.
    mutating func admit(_ nonce: ConnectNonce, at now: Moment) -> Bool {
        // A nonce is good until its tolerance is over. Once more that: the loop that finds it good may be another.
        func isOver(_ nonce: ConnectNonce) -> Bool { now - nonce.made > Limits.nonceTolerance + Limits.nonceTolerance }
        if !older.isEmpty {
            older.removeAll(where: isOver)
            if older.isEmpty { older = [] }
        }
        guard !older.contains(nonce) else { return false }
        if !isOver(last) {
            guard nonce != last, older.count + 1 < Limits.rememberedNonces else { return false }
            older.append(last)
        }
        last = nonce
        return true
    }
}
