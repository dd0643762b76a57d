import PushCore
import Reactor

/// Addresses whose connections failed lately, and those that failed so often that they are dropped for a while. A pure
/// value. Behind one address may be many devices, so whoever gets in clears it.
struct AddressFailures {
    /// What is remembered of one address.
    private struct Record {
        var count: Int
        /// When the first of them was.
        var since: Moment
        /// Until when it is dropped.
        var until: Moment
    }

    /// Failures within the span after which an address is dropped; 0 drops none.
    var limit: Int
    /// Two generations: when the young one is full it is the old one, and the one before is forgotten.
    private var young: [PeerAddress: Record] = [:]
    private var old: [PeerAddress: Record] = [:]

    init(limit: Int) { self.limit = limit }

    /// Addresses that are remembered.
    var count: Int { young.count + old.count }

    /// Counts a failure. True if the address is dropped from now on.
    mutating func add(_ address: PeerAddress, at now: Moment) -> Bool {
        // On this machine everyone has one address, and could do worse than fail.
        guard limit > 0, !address.isLoopback else { return false }
        let never = Moment(nanoseconds: 0)
        var record = young[address] ?? old.removeValue(forKey: address) ?? Record(count: 0, since: now, until: never)
        // A clock that was set back begins anew, too.
        if now - record.since > Limits.failureSpan || now < record.since {
            record = Record(count: 0, since: now, until: never)
        }
        record.count += 1
        let isDropped = record.count >= limit && record.until <= now
        if isDropped { record.until = now + Limits.penalty }
        if young[address] == nil, young.count >= Limits.rememberedFailures / 2 {
            old = young
            young = [:]
        }
        young[address] = record
        return isDropped
    }

    /// Someone from there got in.
    mutating func clear(_ address: PeerAddress) {
        guard count > 0 else { return }
        young[address] = nil
        old[address] = nil
    }

    func isDropped(_ address: PeerAddress, at now: Moment) -> Bool {
        guard count > 0, let record = young[address] ?? old[address] else { return false }
        return now < record.until && record.until - now <= Limits.penalty
    }
}
