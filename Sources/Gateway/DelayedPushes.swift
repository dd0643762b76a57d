import PushCore

/// Pushes that wait a little before they are written, in the order of their time. By number, so that one that has ended
/// is freed at once: its memory is still warm for the next.
struct DelayedPushes {
    private var list: [(due: Moment, push: PushAddress)] = []
    private var start = 0

    /// Taken one by one, removed together: so many at once.
    private static let removedAtOnce = 1024

    /// The one whose time comes next.
    var first: (due: Moment, push: PushAddress)? { start < list.count ? list[start] : nil }

    mutating func add(_ push: PushAddress, due: Moment) { list.append((due, push)) }

    /// The clock was set back: each waits for as long as it would have.
    mutating func goBack(by interval: Interval) {
        for place in list.indices { list[place].due = list[place].due - interval }
    }

    mutating func removeFirst() {
        start += 1
        if start == list.count {
            list.removeAll(keepingCapacity: true)
            start = 0
        } else if start > Self.removedAtOnce {
            list.removeFirst(start)
            start = 0
        }
    }
}
