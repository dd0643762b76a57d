import PushCore

/// A push that was accepted and not yet answered.
struct UnansweredPush {
    let number: UInt64
    let type: PushType?
    let reply: ReplyAddress
    /// Whether the store has been asked to keep it.
    var isSubmitted = false
}

/// The unanswered pushes of one device, oldest first: few, and mostly the oldest is the next to be answered.
struct UnansweredPushes {
    private var list: [UnansweredPush] = []
    /// By number, the answers due to pushes whose place it took before they were durable: they are safe when it is.
    private var inherited: [UInt64: [ReplyAddress]] = [:]
    /// Pushes whose place some of these took: they end when one of those is safe, and come back if all are refused.
    private(set) var displaced: [DisplacedPush] = []

    var isEmpty: Bool { list.isEmpty }
    var count: Int { list.count }

    mutating func add(_ push: UnansweredPush) { list.append(push) }

    func contains(_ number: UInt64) -> Bool { place(of: number) != nil }

    /// Takes one out; nil when it is not there.
    mutating func remove(_ number: UInt64) -> UnansweredPush? { place(of: number).map { list.remove(at: $0) } }

    /// Takes the oldest out; nil when there is none. What it inherited stays until it is asked for.
    mutating func removeFirst() -> UnansweredPush? { list.isEmpty ? nil : list.removeFirst() }

    /// Notes that the store has been asked to keep one. False when it is not there.
    mutating func submit(_ number: UInt64) -> Bool {
        guard let place = place(of: number) else { return false }
        list[place].isSubmitted = true
        return true
    }

    /// Lets the push `heir` answer for `push`, too, and for what that has inherited; what that has replaced goes on.
    mutating func leave(_ push: UnansweredPush, to heir: UInt64) {
        inherited[heir, default: []] += [push.reply] + takeInherited(push.number)
        for place in displaced.indices { displaced[place].replacement.pass(push.number, to: heir) }
    }

    /// Keeps a push that was answered and whose place some of these have taken.
    mutating func displace(_ push: DisplacedPush) { displaced.append(push) }

    /// A new push takes the place of displaced ones, too; returns those that end with that, because it is safe.
    mutating func supersede(by newer: Push) -> [DisplacedPush] {
        takeDisplaced { push in
            guard push.queued.push.isReplaced(by: newer) else { return false }
            if newer.isOnce { return true }
            push.replacement.add(newer.number)
            return false
        }
    }

    /// A push is safe; returns those that end with that.
    mutating func settle(_ number: UInt64) -> [DisplacedPush] { takeDisplaced { $0.replacement.settle(number) } }

    /// A push is refused; returns those that nothing replaces any more.
    mutating func refuse(_ number: UInt64) -> [DisplacedPush] { takeDisplaced { $0.replacement.refuse(number) } }

    /// Changes the displaced and takes those of which that returns true.
    private mutating func takeDisplaced(where change: (inout DisplacedPush) -> Bool) -> [DisplacedPush] {
        guard !displaced.isEmpty else { return [] }
        var (taken, kept): ([DisplacedPush], [DisplacedPush]) = ([], [])
        for var push in displaced {
            if change(&push) { taken.append(push) } else { kept.append(push) }
        }
        displaced = kept
        return taken
    }

    /// The answers that a push has inherited, once.
    mutating func takeInherited(_ number: UInt64) -> [ReplyAddress] {
        inherited.isEmpty ? [] : inherited.removeValue(forKey: number) ?? []
    }

    private func place(of number: UInt64) -> Int? { list.firstIndex { $0.number == number } }
}

/// A push that has left its queue for newer ones that may yet be refused.
struct DisplacedPush {
    let queued: QueuedPush
    let cause: DiscardCause
    var replacement: Replacement
    /// It had waited: its end is told as "from storage".
    let fromStorage: Bool
}
