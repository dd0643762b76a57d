/// When which token is due: a binary heap. A pure value; nothing is ever removed before it is due, so the owner of the
/// token checks on waking whether the deadline still stands.
package struct Deadlines: Sendable {
    private var heap: [Entry] = []

    package init() {}

    /// Deadlines in the heap, replaced ones included.
    package var count: Int { heap.count }
    /// Whether none is left.
    package var isEmpty: Bool { heap.isEmpty }

    /// The earliest deadline; nil when there is none.
    package var next: Int64? { heap.first?.at }

    /// Adds a deadline in nanoseconds of whatever clock the caller keeps to. A token may be added more than once.
    package mutating func add(_ token: UInt64, at: Int64) {
        heap.append(Entry(at: at, token: token))
        var child = heap.count - 1
        while child > 0, heap[child].at < heap[(child - 1) / 2].at {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes out a token that is due, earliest first; nil when none is.
    package mutating func popDue(at now: Int64) -> UInt64? {
        guard let first = heap.first, first.at <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sinkRoot()
        return first.token
    }

    private mutating func sinkRoot() {
        var parent = 0
        while true {
            let children = (2 * parent + 1)..<min(2 * parent + 3, max(2 * parent + 1, heap.count))
            guard let least = children.min(by: { heap[$0].at < heap[$1].at }), heap[least].at < heap[parent].at else {
                return
            }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private struct Entry {
        let at: Int64
        let token: UInt64
    }
}
