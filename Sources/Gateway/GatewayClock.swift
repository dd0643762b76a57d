package import PushCore
import Reactor

/// The time as a gateway sees it: the wall clock, moved by the test clock.
package final class GatewayClock: Sendable {
    private let offset = AtomicCell()

    package init() {}

    /// What time it is.
    package func now() -> Moment { Moment(nanoseconds: Clock.wall() &+ Int64(offset.value)) }

    /// Moves the clock forward, for tests.
    package func advance(by interval: Interval) { offset.add(Int(interval.nanoseconds)) }
}
