import PushCore
import Reactor

/// The test hook that answers the next pushes with a reason of the tester's choice.
final class AnswerHook: Sendable {
    private let planned = Locked<(rejection: Rejection, times: Int)?>(nil)
    private let isSet = AtomicCell()

    init() {}

    /// Answers the next pushes with `rejection`; 0 `times` ends it.
    func plan(_ rejection: Rejection, times: Int) {
        planned.withLock { $0 = times > 0 ? (rejection, times) : nil }
        isSet.set(times > 0 ? 1 : 0)
    }

    /// The answer for one push; nil when none is planned.
    func next() -> Rejection? {
        guard isSet.value == 1 else { return nil }
        return planned.withLock { plan -> Rejection? in
            guard let current = plan else { return nil }
            plan = current.times > 1 ? (current.rejection, current.times - 1) : nil
            return current.rejection
        }
    }
}
