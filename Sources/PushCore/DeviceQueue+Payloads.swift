// Payloads are in memory while they are young: those of pushes that wait for long, or have waited over a restart, are
// in the store alone until their turn comes.
extension DeviceQueue {
    /// Leaves to the store the payloads of what no session takes and was accepted before `moment`.
    package mutating func unloadPayloads(acceptedBefore moment: Moment, where isStored: (UInt64) -> Bool) {
        for lane in lanes.indices where !hasSession || !lanes[lane].mode.delivers {
            lanes[lane].unload { $0.acceptedAt < moment && !$0.isOnce && isStored($0.number) }
        }
    }

    /// The numbers of the next to be sent whose payloads are in the store, as many as the window
    /// takes, also when it has room for fewer now: so a device that acknowledges one by one is not read for one by one.
    package func missingPayloads(at now: Moment) -> [UInt64] {
        var missing: [UInt64] = []
        for rank in Priority.ranks {
            let places = policy.window - missing.count
            guard places > 0 else { break }
            let open = lanes.filter { lane in
                lane.mode.delivers && lane.head(rank).map { mayGo($0.push, lane.mode, at: now) } ?? false
            }
            missing += open.flatMap { $0.missingPayloads(rank, limit: places) }.sorted().prefix(places)
        }
        return missing
    }

    /// Takes a payload from the store. Call `pump` after the last of several. What is not held any more needs none.
    package mutating func load(_ payload: [UInt8], of number: UInt64) {
        for lane in lanes {
            if let entry = lane.first(where: { $0.push.number == number }) { return entry.queued.load(payload) }
        }
    }

    /// Discards a push whose payload the store has lost. False if it does not wait for one any more.
    package mutating func discardLost(_ number: UInt64, into effects: inout [QueueEffect]) -> Bool {
        let count = effects.count
        for lane in lanes.indices {
            discardWaiting(.undeliverable, lane, into: &effects) {
                $0.push.number == number && !$0.push.content.hasPayload
            }
        }
        return effects.count > count
    }
}
