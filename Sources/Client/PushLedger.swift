/// What became of each push of a load: planned, answered, delivered.
struct PushLedger {
    private struct Fate: OptionSet {
        let rawValue: UInt8
        static let accepted = Fate(rawValue: 1)
        static let delivered = Fate(rawValue: 2)
    }

    /// How many there are in all.
    let count: Int
    /// How many were answered so far.
    private(set) var answeredCount = 0
    /// Answers by status; 0 is a reset.
    private(set) var statuses = [Int](repeating: 0, count: 1000)
    /// Pushes that reached their device.
    private(set) var deliveredCount = 0
    /// Deliveries of what had been delivered before.
    private(set) var repeatedCount = 0
    /// Accepted and not delivered yet.
    private(set) var owedCount = 0
    /// From the planned moment to the answer.
    private(set) var answers = LatencyHistogram()
    /// From the planned moment to the device.
    private(set) var deliveries = LatencyHistogram()

    private var planned: [Int64]
    private var fates: [Fate]

    init(count: Int) {
        self.count = count
        planned = Array(repeating: 0, count: count)
        fates = Array(repeating: [], count: count)
    }

    mutating func plan(_ number: Int, at moment: Int64) { planned[number] = moment }

    mutating func answered(_ number: Int, _ status: Int, at moment: Int64) {
        answeredCount += 1
        statuses[min(status, statuses.count - 1)] += 1
        answers.record(moment - planned[number])
        guard status == 200 else { return }
        if !fates[number].contains(.delivered) { owedCount += 1 }
        fates[number].insert(.accepted)
    }

    /// A delivery may come before its answer. A number that was never sent is nobody's.
    mutating func delivered(_ number: Int, at moment: Int64) {
        guard number < count, planned[number] != 0 else { return }
        if fates[number].contains(.delivered) {
            repeatedCount += 1
            return
        }
        deliveredCount += 1
        deliveries.record(moment - planned[number])
        if fates[number].contains(.accepted) { owedCount -= 1 }
        fates[number].insert(.delivered)
    }
}
