/// One topic of a device: how its session treats it, and what waits for it.
struct QueueLane {
    let registration: UInt64
    /// Equal for all topics of one app: what `queue.mode = apple` keeps one push for.
    let app: Int
    var mode = TopicMode.unlisted
    /// By the rank of its priority, oldest first in each; numbers rise with age.
    private(set) var lists: InlineArray<3, [WaitingPush]> = .init(repeating: [])

    init(registration: UInt64, app: Int) {
        self.registration = registration
        self.app = app
    }

    var count: Int { lists[0].count + lists[1].count + lists[2].count }

    /// The oldest of a rank.
    func head(_ rank: Int) -> WaitingPush? { lists[rank].first }

    func first(where matches: (WaitingPush) -> Bool) -> WaitingPush? {
        for rank in Priority.ranks {
            if let entry = lists[rank].first(where: matches) { return entry }
        }
        return nil
    }

    func contains(where matches: (WaitingPush) -> Bool) -> Bool {
        for rank in Priority.ranks where lists[rank].contains(where: matches) { return true }
        return false
    }

    /// Adds the youngest.
    mutating func append(_ entry: WaitingPush) { lists[entry.push.priority.rank].append(entry) }

    /// Adds one where its number says.
    mutating func putBack(_ entry: WaitingPush) {
        let rank = entry.push.priority.rank
        let place = lists[rank].firstIndex { $0.push.number > entry.push.number } ?? lists[rank].count
        lists[rank].insert(entry, at: place)
    }

    mutating func takeHead(_ rank: Int) -> WaitingPush { lists[rank].removeFirst() }

    /// Takes the oldest of all priorities.
    mutating func takeOldest() -> WaitingPush? {
        guard let rank = oldestRank else { return nil }
        return takeHead(rank)
    }

    private var oldestRank: Int? {
        var oldest: (rank: Int, number: UInt64)?
        for rank in Priority.ranks {
            guard let number = head(rank)?.push.number else { continue }
            if oldest.map({ number < $0.number }) ?? true { oldest = (rank, number) }
        }
        return oldest?.rank
    }

    /// Leaves to the store the payloads of what matches and nobody else holds.
    mutating func unload(where matches: (Push) -> Bool) {
        for rank in Priority.ranks {
            for index in lists[rank].indices {
                guard lists[rank][index].push.content.hasPayload, matches(lists[rank][index].push) else { continue }
                lists[rank][index].unloadIfAlone()
            }
        }
    }

    /// The numbers of the oldest of a rank whose payloads are in the store, among its first `limit`.
    func missingPayloads(_ rank: Int, limit: Int) -> [UInt64] {
        lists[rank].prefix(limit).lazy.filter { !$0.push.content.hasPayload }.map(\.push.number)
    }

    /// Takes out what matches. Allocates only if something does.
    mutating func take(where matches: (WaitingPush) -> Bool) -> [WaitingPush] {
        var taken: [WaitingPush] = []
        for rank in Priority.ranks where lists[rank].contains(where: matches) {
            taken += lists[rank].filter(matches)
            lists[rank].removeAll(where: matches)
        }
        return taken
    }

    /// Marks all that waits as waiting when its topic was enabled. Returns how many were not marked before.
    mutating func mark() -> Int {
        var count = 0
        for rank in Priority.ranks {
            for index in lists[rank].indices where !lists[rank][index].isMarked {
                lists[rank][index].isMarked = true
                count += 1
            }
        }
        return count
    }

    /// No session takes the topic any more: marks go, and what had not waited for a session does so now.
    mutating func park(_ each: (WaitingPush) -> Void) {
        for rank in Priority.ranks {
            for index in lists[rank].indices {
                let entry = lists[rank][index]
                if entry.wasStored, !entry.isMarked { continue }
                lists[rank][index].isMarked = false
                lists[rank][index].wasStored = true
                each(entry)
            }
        }
    }
}

/// One waiting push.
struct WaitingPush {
    private(set) var queued: QueuedPush
    /// It waited without a session that would take it: its end is told as "from storage".
    var wasStored = false
    /// It waited when a Filter enabled its topic: it carries a storage flag.
    var isMarked = false
    /// Sessions on which it used up its resends.
    var exhaustedSessions: UInt8 = 0

    init(_ queued: QueuedPush, wasStored: Bool = false) {
        self.queued = queued
        self.wasStored = wasStored
    }

    var push: Push {
        _read { yield queued.push }
    }

    /// Leaves its payload to the store, unless a connection still has it to write.
    mutating func unloadIfAlone() {
        if isKnownUniquelyReferenced(&queued) { queued.unload() }
    }
}

extension Priority {
    /// The places in the order of sending.
    static var ranks: Range<Int> { 0..<3 }

    /// Its place in the order of sending.
    var rank: Int {
        switch self {
        case .immediate: 0
        case .powerAware: 1
        case .powerFirst: 2
        }
    }
}
