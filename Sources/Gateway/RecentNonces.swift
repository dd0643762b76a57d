import PushCore
import Wire

/// The nonces of one device's Connects, for as long as they could be shown again. Mostly it is one: that needs no list.
///
/// When there are many, what is not younger than the oldest of them is refused, because it may be one that was
/// forgotten. So a device whose clock goes forward is never refused, and none is taken twice.
struct RecentNonces {
    /// One of 1970 stands for none: an optional would take eight bytes more of each device.
    private var last = ConnectNonce(made: Moment(nanoseconds: 0), random: 0)
    private var older: [ConnectNonce] = []

    /// Remembers a nonce; false if it was used before, or may have been.
    mutating func admit(_ nonce: ConnectNonce, at now: Moment) -> Bool {
        // A nonce is good until its tolerance is over. Once more that: the loop that finds it good may be another.
        func isOver(_ nonce: ConnectNonce) -> Bool { now - nonce.made > Limits.nonceTolerance + Limits.nonceTolerance }
        if !older.isEmpty {
            older.removeAll(where: isOver)
            if older.isEmpty { older = [] }
        }
        guard !older.contains(nonce) else { return false }
        if !isOver(last) {
            guard nonce != last else { return false }
            older.append(last)
            guard older.count < Limits.rememberedNonces || forgetOldest(for: nonce) else { return false }
        }
        last = nonce
        return true
    }

    /// Makes room for a nonce. False, and the last one is again the last, if it is not younger than all that were ever
    /// forgotten: they were not younger than the oldest one is.
    private mutating func forgetOldest(for nonce: ConnectNonce) -> Bool {
        guard let oldest = older.indices.min(by: { older[$0].made < older[$1].made }), nonce.made > older[oldest].made
        else {
            older.removeLast()
            return false
        }
        older.remove(at: oldest)
        return true
    }
}
