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
    /// By number, the pushes whose place it took: they end when it is durable or over, and come back if it is refused.
    private var displaced: [UInt64: [DisplacedPush]] = [:]

    var isEmpty: Bool { list.isEmpty }
    var count: Int { list.count }
    /// The pushes whose place others took and that have not ended.
    var displacedNumbers: [UInt64] { displaced.values.joined().map(\.queued.push.number) }

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

    /// Lets the push `heir` answer for `push`, too, for what that has inherited and what it has displaced.
    mutating func leave(_ push: UnansweredPush, to heir: UInt64) {
        inherited[heir, default: []] += [push.reply] + takeInherited(push.number)
        for older in takeDisplaced(push.number) { displace(older, by: heir) }
    }

    /// Notes that `heir`, which is unanswered, has taken the place of a push.
    mutating func displace(_ push: DisplacedPush, by heir: UInt64) { displaced[heir, default: []].append(push) }

    /// The pushes whose place one has taken, once.
    mutating func takeDisplaced(_ number: UInt64) -> [DisplacedPush] {
        displaced.isEmpty ? [] : displaced.removeValue(forKey: number) ?? []
    }

    /// The answers that a push has inherited, once.
    mutating func takeInherited(_ number: UInt64) -> [ReplyAddress] {
        inherited.isEmpty ? [] : inherited.removeValue(forKey: number) ?? []
    }

    private func place(of number: UInt64) -> Int? { list.firstIndex { $0.number == number } }
}

/// A push that was answered 200 and whose place was taken by one that may yet be refused.
struct DisplacedPush {
    let queued: QueuedPush
    let cause: DiscardCause
    /// It had waited: its end is told as "from storage".
    let fromStorage: Bool
}
