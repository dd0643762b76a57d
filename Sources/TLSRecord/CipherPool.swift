import COpenSSL

/// Keyed cipher contexts for the sessions of one loop that were busy last.
///
/// A context is more than twice as large as a session, and setting its key costs a good part of sealing a push
/// (docs/decisions/0011-tls-detachment.md). So a session that sleeps has none, and a busy one finds its own again.
package final class CipherPool {
    /// A place in the pool that may have gone to somebody else.
    struct Lease {
        fileprivate var place = 0
        fileprivate var stamp: UInt64 = 0
    }

    /// Whether a context seals or opens.
    enum Direction: Int32 {
        case opening = 0
        case sealing = 1
    }

    private struct Place {
        let context: OpaquePointer
        /// The suite OpenSSL has set the context up for; nil for none.
        var suite: CipherSuite?
        /// Told to the one who leased it; never 0.
        var stamp: UInt64
        /// Whether its owner has come back since the hand came by.
        var wasUsed = false
    }

    private var places: [Place] = []
    private var free: [Int] = []
    private var hand = 0
    private var strangers = 0
    private var lastStamp: UInt64 = 0
    private let capacity: Int

    /// At 1.1 KB each this is half a megabyte for a loop, with which 256 sessions can be busy both ways.
    package static let usualCapacity = 512
    /// How many keys are set in one place before the next is tried.
    private static let strangersPerPlace = 8

    package init(capacity: Int = CipherPool.usualCapacity) {
        precondition(capacity > 0, "a pool without places")
        self.capacity = capacity
    }

    deinit { for place in places { EVP_CIPHER_CTX_free(place.context) } }

    /// A context with `keys` set: the leased one if it still is, else another one that is keyed now.
    func context(for lease: inout Lease, _ keys: borrowing TrafficKeys, _ direction: Direction) -> OpaquePointer {
        if lease.stamp != 0, places[lease.place].stamp == lease.stamp {
            places[lease.place].wasUsed = true
            return places[lease.place].context
        }
        let place = free.popLast() ?? (places.count < capacity ? add() : leastUsed())
        lastStamp += 1
        lease = Lease(place: place, stamp: lastStamp)
        let context = places[place].context
        // To name the cipher again would make OpenSSL set the context up anew.
        let cipher = places[place].suite == keys.suite ? nil : keys.suite.cipher
        let isKeyed = EVP_CipherInit_ex(context, cipher, nil, keys.key, nil, direction.rawValue) == 1
        precondition(isKeyed, "OpenSSL cannot set a key")
        places[place] = Place(context: context, suite: keys.suite, stamp: lastStamp)
        return context
    }

    /// Forgets a key that will not be used again; OpenSSL zeroes what it made of it.
    func forget(_ lease: inout Lease) {
        guard lease.stamp != 0, places[lease.place].stamp == lease.stamp else { return }
        EVP_CIPHER_CTX_reset(places[lease.place].context)
        places[lease.place].suite = nil
        places[lease.place].stamp = 0
        free.append(lease.place)
        lease = Lease()
    }

    private func add() -> Int {
        guard let context = EVP_CIPHER_CTX_new() else { preconditionFailure("no memory for a cipher context") }
        places.append(Place(context: context, suite: nil, stamp: 0))
        return places.count - 1
    }

    /// The place that the last stranger got, if he has not come back: it is still in the processor's cache, and when
    /// more sessions take turns than there are places, the others keep theirs. Now and then the hand goes on, so that
    /// those who sleep make room.
    private func leastUsed() -> Int {
        strangers += 1
        if strangers.isMultiple(of: Self.strangersPerPlace) { goOn() }
        while places[hand].wasUsed { goOn() }
        return hand
    }

    private func goOn() {
        places[hand].wasUsed = false
        hand = (hand + 1) % places.count
    }
}
