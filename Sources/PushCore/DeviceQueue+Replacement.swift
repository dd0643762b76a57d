// New pushes take the place of older ones, for good or until they are refused.
extension DeviceQueue {
    /// The waiting one with the same id goes. `isSafe` tells that the new one cannot be refused any more.
    mutating func collapse(with push: Push, _ lane: Int, isSafe: Bool, into effects: inout [QueueEffect]) {
        guard push.content.hasCollapseID else { return }
        for entry in lanes[lane].take(where: { $0.push.isReplaced(by: push) }) {
            replace(entry, .collapsed, by: isSafe ? nil : push, into: &effects)
        }
    }

    /// The one in flight with the same id is not recalled but will not be sent again, unless `push` is refused.
    mutating func supersede(by push: Push, into effects: inout [QueueEffect]) {
        guard push.content.hasCollapseID else { return }
        for index in flights.indices where flights[index].entry.push.isReplaced(by: push) {
            if push.isOnce {
                flights[index].replacement = .certain
                effects.append(.obsolete(flights[index].entry.push.number))
            } else {
                flights[index].replacement.add(push.number)
                mayHavePending = true
            }
        }
    }

    /// A push is stored, delivered or over: what it replaced is not sent again, whatever becomes of others. Returns the
    /// numbers of those in flight of which that is so from now on.
    package mutating func settle(_ number: UInt64) -> [UInt64] {
        guard mayHavePending else { return [] }
        let obsolete = flights.filter { $0.replacement.isPending(for: number) }.map(\.entry.push.number)
        eachReplacement { $0.settle(number) }
        return obsolete
    }

    /// Whether one is in flight and will not be sent again, whatever happens.
    package func isObsolete(_ number: UInt64) -> Bool {
        flights.contains { $0.entry.push.number == number && $0.replacement == .certain }
    }

    /// A push gave way to another that answers for it.
    package mutating func pass(_ number: UInt64, to heir: UInt64) { eachReplacement { $0.pass(number, to: heir) } }

    /// Takes back a push that could not be made durable: it has replaced nothing. False if it is not there, because
    /// it gave way itself.
    package mutating func withdraw(_ number: UInt64) -> Bool {
        eachReplacement { $0.refuse(number) }
        if let index = flights.firstIndex(where: { $0.entry.push.number == number }) {
            flights.remove(at: index)
            return true
        }
        return takeBack(number)
    }

    /// Puts back a push whose replacement was undone, where its number says. False if its registration has ended.
    package mutating func putBack(_ queued: QueuedPush, wasStored: Bool) -> Bool {
        guard lane(of: queued.push.registration) != nil else { return false }
        putBack(WaitingPush(queued, wasStored: wasStored))
        return true
    }

    /// Changes what is noted of replacements in flight, of which there are few, mostly none.
    private mutating func eachReplacement(_ change: (inout Replacement) -> Void) {
        guard mayHavePending else { return }
        var isPending = false
        for index in flights.indices {
            guard case .pending = flights[index].replacement else { continue }
            change(&flights[index].replacement)
            if case .pending = flights[index].replacement { isPending = true }
        }
        mayHavePending = isPending
    }

    /// Lets an entry that has just been taken from its lane give way to `newer`; nil stands for one that cannot be
    /// refused any more.
    mutating func replace(
        _ entry: WaitingPush,
        _ cause: DiscardCause,
        by newer: Push?,
        into effects: inout [QueueEffect]
    ) {
        guard let newer, newer.number != entry.push.number else { return discard(entry, cause, into: &effects) }
        left(entry)
        effects.append(.replaced(entry.queued, cause, .pending([newer.number]), fromStorage: entry.wasStored))
    }

    /// Ends one that was in flight and whose place was taken, if that is certain or becomes so.
    func giveWay(_ entry: WaitingPush, _ replacement: Replacement, into effects: inout [QueueEffect]) {
        effects.append(.replaced(entry.queued, .collapsed, replacement, fromStorage: entry.wasStored))
    }
}
