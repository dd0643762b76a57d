import PushCore
import TestSupport

/// Watches what a queue asks for and knows, as slowly and plainly as it is promised, whether it may.
struct QueueWitness {
    enum State: Equatable {
        case waiting
        case inFlight(resends: Int)
        case over
    }

    let policy: QueuePolicy
    private(set) var pushes: [UInt64: Push] = [:]
    private(set) var states: [UInt64: State] = [:]
    private(set) var complaints: [String] = []
    var modes: [UInt64: TopicMode] = [:]
    var isAwake: Bool?
    /// The newest push that waits or was sent, by registration and collapse id.
    private var newest: [[UInt8]: UInt64] = [:]
    /// Of priority 5, waiting when a 10 went to the sleeping device.
    private var released: Set<UInt64> = []

    init(policy: QueuePolicy) { self.policy = policy }

    var heldNumbers: [UInt64] { states.filter { $0.value != .over }.keys.sorted() }
    var flights: [UInt64] { states.filter { $0.value != .over && $0.value != .waiting }.keys.sorted() }

    mutating func offered(_ push: Push, _ verdict: QueueVerdict) {
        guard verdict != .tooMany else { return }
        (pushes[push.number], states[push.number]) = (push, .waiting)
        if verdict == .accepted { noteNewest(push) }
    }

    /// A session ended, by whomever: what it had in flight waits again.
    mutating func sessionEnded() {
        for number in flights { states[number] = .waiting }
        (isAwake, modes, released) = (nil, [:], [])
    }

    /// Only what the store has is left. That a push was superseded by one that is gone, it cannot know.
    mutating func restarted() {
        sessionEnded()
        newest = [:]
        for number in heldNumbers {
            guard let push = pushes[number] else { continue }
            if push.isOnce { states[number] = .over } else { noteNewest(push) }
        }
    }

    mutating func withdrawn(_ push: Push) {
        states[push.number] = .over
        let key = key(push)
        guard newest[key] == push.number else { return }
        newest[key] = heldNumbers.last { pushes[$0].map { self.key($0) == key } ?? false }
    }

    mutating func see(_ effects: [QueueEffect], at now: Moment) {
        for effect in effects {
            switch effect {
            case .send(let queued, _): sent(queued.push, at: now)
            case .resend(let queued, _): resent(queued.push, at: now)
            case .stored(let queued, _):
                if state(queued.push) == .over { complaints.append("\(queued.number) is stored after its end") }
            case .delivered(let queued, _):
                if !isInFlight(queued.push) { complaints.append("\(queued.number) is delivered but was not in flight") }
                states[queued.number] = .over
            case .replaced(let queued, _, _, _):
                if state(queued.push) == .over { complaints.append("\(queued.number) ends twice") }
                states[queued.number] = .over
            case .discarded(let queued, let cause, _):
                if state(queued.push) == .over { complaints.append("\(queued.number) ends twice") }
                if cause == .expired, queued.push.expires > now {
                    complaints.append("\(queued.number) has not expired")
                }
                states[queued.number] = .over
            case .obsolete(let number):
                if case .inFlight? = states[number] { break }
                complaints.append("\(number) is obsolete but not in flight")
            case .revoked: break
            case .closeSession: sessionEnded()
            }
        }
    }

    /// After a pump nothing that may go waits, unless window or room is used up.
    mutating func pumped(at now: Moment, room: Int) {
        guard let next = firstSendable(at: now), flights.count < policy.window else { return }
        if next.content.payloadCount + Limits.frameOverhead <= room {
            complaints.append("\(next.number) was left behind")
        }
        if next.isOnce { complaints.append("\(next.number) waits although it was for once") }
    }

    private mutating func sent(_ push: Push, at now: Moment) {
        if state(push) != .waiting { complaints.append("\(push.number) is sent but does not wait") }
        if push.isOnce ? push.acceptedAt != now : push.expires <= now {
            complaints.append("\(push.number) is sent too late")
        }
        if let newer = newest[key(push)], newer > push.number, !push.content.collapseID.isEmpty {
            complaints.append("\(push.number) is sent after \(newer) replaced it")
        }
        if firstSendable(at: now)?.number != push.number { complaints.append("\(push.number) is sent out of turn") }
        if flights.count >= policy.window { complaints.append("\(push.number) exceeds the window") }
        states[push.number] = .inFlight(resends: 0)
        if push.isOnce { noteNewest(push) }
        guard push.priority == .immediate, isAwake == false else { return }
        for number in heldNumbers where pushes[number]?.priority == .powerAware { released.insert(number) }
    }

    private mutating func resent(_ push: Push, at now: Moment) {
        guard case .inFlight(let resends) = state(push) else {
            return complaints.append("\(push.number) is sent again but is not in flight")
        }
        states[push.number] = .inFlight(resends: resends + 1)
        if resends >= 3 || push.isOnce { complaints.append("\(push.number) is sent again too often") }
        if push.expires <= now { complaints.append("\(push.number) is sent again too late") }
        if modes[push.registration]?.delivers != true { complaints.append("\(push.number): its topic is not enabled") }
        if !push.content.collapseID.isEmpty, newest[key(push)] != push.number {
            complaints.append("\(push.number) is sent again though it was replaced")
        }
    }

    private func firstSendable(at now: Moment) -> Push? {
        let waiting = states.filter { $0.value == .waiting }.keys.compactMap { pushes[$0] }
        return waiting.filter { maySend($0, at: now) }.min {
            ($1.priority.rawValue, $0.number) < ($0.priority.rawValue, $1.number)
        }
    }

    private func maySend(_ push: Push, at now: Moment) -> Bool {
        guard let isAwake, let mode = modes[push.registration], mode.delivers else { return false }
        if push.expires <= now, !push.isOnce { return false }
        switch push.priority {
        case .immediate: return true
        case .powerFirst: return isAwake
        case .powerAware:
            let isDue = now >= push.acceptedAt + policy.lowPriorityDelay || released.contains(push.number)
            return isAwake || (mode == .enabled && isDue)
        }
    }

    private mutating func noteNewest(_ push: Push) {
        if !push.content.collapseID.isEmpty { newest[key(push)] = push.number }
    }

    private func key(_ push: Push) -> [UInt8] { Array("\(push.registration):".utf8) + push.content.collapseID }

    private func state(_ push: Push) -> State { states[push.number] ?? .over }

    private func isInFlight(_ push: Push) -> Bool {
        if case .inFlight = state(push) { true } else { false }
    }
}
