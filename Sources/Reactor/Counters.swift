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
    package static let limit = 64

    private let numbers = InlineArray<64, Atomic<Int>> { _ in Atomic(0) }
    /// How many there are.
    package let count: Int

    package init(count: Int) {
        precondition(count <= Self.limit, "there are at most \(Self.limit) numbers in a set")
        self.count = count
    }

    /// Adds `n`, which may be negative.
    package func add(_ n: Int, at place: Int) { numbers[place].wrappingAdd(n, ordering: .relaxed) }

    /// What each is now.
    package var values: [Int] { (0..<count).map { numbers[$0].load(ordering: .relaxed) } }
}
