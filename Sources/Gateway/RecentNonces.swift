import PushCore
import Wire

/// The nonces of one device's Connects, for as long as they could be shown again. Mostly it is one: that needs no list.
struct RecentNonces {
    /// One of 1970 stands for none: an optional would take eight bytes more of each device.
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
