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

/// A fixed set of such numbers in one object, told apart by their place.
package final class AtomicCells: Sendable {
    /// As many as there may be: the metrics with most kinds have half of them.
    private let numbers = InlineArray<64, Atomic<Int>> { _ in Atomic(0) }
    /// How many there are.
    package let count: Int

    package init(count: Int) {
        self.count = count
        precondition(count <= numbers.count, "a set has no room for so many numbers")
    }

    /// Adds `n`, which may be negative.
    package func add(_ n: Int, at place: Int) { numbers[place].wrappingAdd(n, ordering: .relaxed) }

    /// What each is now.
    package var values: [Int] { (0..<count).map { numbers[$0].load(ordering: .relaxed) } }
}
