import Synchronization

/// A number that every thread may change and read: a counter or a gauge. It orders nothing else.
package final class AtomicCell: Sendable {
    private let number = Atomic<Int>(0)

    package init() {}

    /// Adds `n`, which may be negative.
    package func add(_ n: Int) { number.wrappingAdd(n, ordering: .relaxed) }
    /// Makes it `n`.
    package func set(_ n: Int) { number.store(n, ordering: .relaxed) }
    /// What it is now.
    package var value: Int { number.load(ordering: .relaxed) }
}
