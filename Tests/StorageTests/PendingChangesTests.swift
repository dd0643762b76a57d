import PushCore
import Testing

@testable import Storage

@Suite struct PendingChangesTests {
    typealias Limits = PendingChanges.Limits

    @Test func `nothing waits in a new queue`() {
        let pending = Queue()
        #expect(pending.isEmpty && pending.deadline() == nil && pending.oldest == nil)
        #expect(pending.next(at: 0) == nil)
    }

    @Test func `a push is due at once, an acknowledgement after a while`() {
        let pending = Queue()
        #expect(pending.add([.discard(3), .discard(1)], at: 1_000))
        #expect(pending.deadline() == 1_000 + Limits.discardDelay)
        #expect(Limits.discardDelay <= 50_000_000, "100 ms are promised, and a commit takes its time")
        #expect(pending.next(at: 2_000) == nil)
        #expect(pending.add([.append(Sample.push(7))], at: 2_000))
        #expect(pending.next(at: 2_000)?.summary == ["+7"])
        #expect(pending.next(at: 1_000 + Limits.discardDelay)?.summary == ["-1", "-3"])
        #expect(pending.isEmpty)
    }

    @Test func `acknowledgements that are due go with the next push, in order`() {
        let pending = Queue()
        #expect(pending.add([.discard(3), .discard(1)], at: 0))
        #expect(pending.add([.append(Sample.push(7)), .discard(2)], at: 0))
        #expect(pending.next(at: Limits.discardDelay)?.summary == ["+7", "-1", "-2", "-3"])
    }

    @Test func `a push and its acknowledgement cancel out whatever else is there`() {
        let pending = Queue()
        #expect(pending.add([.append(Sample.push(7)), .append(Sample.push(8))], at: 0))
        #expect(pending.add([.discard(7), .discard(2)], at: 0))
        let first = pending.next(at: 1)
        #expect(first?.summary == ["+8"] && first?.cancelled == 1 && first?.count == 2)
        let second = pending.next(at: Limits.discardDelay)
        #expect(second?.summary == ["-2"] && second?.count == 2, "answered though it needed no write")
    }

    @Test func `many acknowledgements do not wait`() {
        let pending = Queue()
        #expect(pending.add((1...UInt64(Limits.discards)).map { .discard($0) }, at: 5))
        #expect(pending.deadline() == 5)
        #expect(pending.next(at: 5)?.discards.count == Limits.discards)
    }

    @Test func `a transaction is bounded and submissions stay whole`() {
        let pending = Queue()
        for start in stride(from: UInt64(0), to: 6_000, by: 1_500) {
            #expect(pending.add((start..<start + 1_500).map { .append(Sample.push($0 + 1)) }, at: 0))
        }
        #expect(pending.next(at: 0)?.changes.count == 3_000)
        #expect(pending.next(at: 0)?.changes.count == 3_000)
        #expect(pending.next(at: 0) == nil)
    }

    @Test func `deletes that failed wait a second and go first`() throws {
        let pending = Queue()
        #expect(pending.add([.discard(9)], at: 0))
        let transaction = try #require(pending.next(at: Limits.discardDelay))
        #expect(pending.failed(transaction, at: Limits.discardDelay) == 0)
        #expect(pending.add([.discard(1)], at: Limits.discardDelay))
        #expect(pending.add([.append(Sample.push(11))], at: Limits.discardDelay))
        #expect(pending.next(at: 3 * Limits.discardDelay)?.summary == ["+11"], "new work goes without them")
        #expect(pending.deadline() == Limits.discardDelay + Limits.retryDelay)
        #expect(pending.next(at: Limits.discardDelay + Limits.retryDelay)?.summary == ["-1", "-9"])
    }

    @Test func `deletes that fail for ever are bounded`() {
        let discards = Discards()
        discards.add([4, 5], at: 0)
        #expect(discards.putBack([1, 2, 3], at: 0, limit: 4) == 1)
        #expect(discards.take(limit: 10) == [2, 3, 4, 5])
        #expect(discards.putBack([1, 2, 3], at: 0, limit: 0) == 3)
        #expect(discards.count == 0 && discards.oldest == nil)
    }

    @Test func `past its bound the queue refuses pushes and takes acknowledgements`() {
        let pending = Queue()
        let many = (1...UInt64(Limits.waiting)).map { StoreChange.append(Sample.push($0)) }
        #expect(pending.add(many, at: 0))
        #expect(!pending.add([.append(Sample.push(1_000_000)), .discard(1)], at: 0))
        #expect(pending.add([.discard(2)], at: 0))
        #expect(pending.next(at: 0, all: true)?.cancelled == 2)
    }
}

/// The queue by reference: an expectation cannot hold a mutating call.
private final class Queue {
    private var pending = PendingChanges()
    var isEmpty: Bool { pending.isEmpty }
    var oldest: Int64? { pending.oldest }
    func deadline() -> Int64? { pending.deadline() }
    func add(_ changes: [StoreChange], at now: Int64) -> Bool { pending.add(changes, at: now, done: nil) }
    func next(at now: Int64, all: Bool = false) -> StoreTransaction? { pending.next(at: now, all: all) }
    func failed(_ transaction: StoreTransaction, at now: Int64) -> Int { pending.failed(transaction, at: now) }
}

/// The same for the discards alone.
private final class Discards {
    private var discards = LazyDiscards()
    var count: Int { discards.count }
    var oldest: Int64? { discards.oldest }
    func add(_ numbers: [UInt64], at now: Int64) { discards.add(numbers, at: now, done: nil) }
    func take(limit: Int) -> [UInt64] { discards.take(limit: limit).numbers }
    func putBack(_ numbers: [UInt64], at now: Int64, limit: Int) -> Int {
        discards.putBack(numbers, at: now, limit: limit)
    }
}

extension StoreTransaction {
    /// "+1" for a push that is written, "-1" for one that is deleted.
    fileprivate var summary: [String] {
        changes.map { change in
            switch change {
            case .append(let push): "+\(push.number)"
            case .discard(let number): "-\(number)"
            default: "?"
            }
        }
    }
}
