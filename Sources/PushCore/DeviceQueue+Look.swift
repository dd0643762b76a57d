// What a simulation looks at after each turn, without changing anything.
extension DeviceQueue {
    /// Tells each push that was sent and not acknowledged, in the order of sending: when it is due, and how often it
    /// was sent again.
    package func eachFlight(_ body: (Push, _ deadline: Moment, _ resends: Int) -> Void) {
        for flight in flights { body(flight.entry.push, flight.deadline, flight.resends) }
    }

    /// Tells each push that waits, topic by topic.
    package func eachWaiting(_ body: (Push) -> Void) {
        for lane in lanes {
            for rank in Priority.ranks {
                for entry in lane.lists[rank] { body(entry.push) }
            }
        }
    }

    /// How the session treats each topic.
    package var modes: [TopicMode] { lanes.map(\.mode) }

    /// Pushes that wait for one registration; nil if there is none.
    package func waitingCount(of registration: UInt64) -> Int? { lane(of: registration).map { lanes[$0].count } }
}
