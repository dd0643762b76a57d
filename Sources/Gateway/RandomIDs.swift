import PushCore

/// Ids that must differ but need not be secret. SplitMix64, seeded once: asking the system for each push is a call.
struct RandomIDs {
    private var state: UInt64

    init() {
        var generator = SystemRandomNumberGenerator()
        state = generator.next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }

    mutating func uniqueID() -> UniqueID { UniqueID(high: next(), low: next()) }

    /// An `apns-id` of our own: uppercase, as the service makes them.
    mutating func messageID() -> UUIDText { UUIDText(uniqueID(), uppercase: true) }
}
