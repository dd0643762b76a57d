package import PushCore
import Reactor

/// The time as a gateway sees it: the wall clock, moved or held by the test clock.
package final class GatewayClock: Sendable {
    private let offset = AtomicCell()
    /// Nanoseconds of the moment at which it stands; 0 while it goes.
    private let held = AtomicCell()

    package init() {}

    /// One that stands at `moment` until it is moved.
    package init(standingAt moment: Moment) { held.set(Int(moment.nanoseconds)) }

    /// What time it is.
    package func now() -> Moment {
        let held = held.value
        if held != 0 { return Moment(nanoseconds: Int64(held)) }
        return Moment(nanoseconds: Clock.wall() &+ Int64(offset.value))
    }

    /// Moves the clock, back if the interval is below zero, for tests.
    package func advance(by interval: Interval) {
        offset.add(Int(interval.nanoseconds))
        if held.value != 0 { held.add(Int(interval.nanoseconds)) }
    }

    /// Makes the clock stand, or go again from where it would be: counts must not depend on the machine's speed.
    package func hold(_ on: Bool) { held.set(on ? Int(now().nanoseconds) : 0) }
}
