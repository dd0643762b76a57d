import CLinux
import Glibc

/// epoll: which descriptors are ready. Level-triggered.
package struct Poller: ~Copyable {
    private let epoll: FileDescriptor
    private var ready: [epoll_event]

    /// `batch` is how many events one wait brings at most; the rest come with the next.
    package init(batch: Int = 256) throws(SystemError) {
        epoll = FileDescriptor(owning: try attempt("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
        ready = Array(repeating: epoll_event(), count: batch)
    }

    /// The poller's own descriptor: another poller may watch whether anything is ready here.
    package var number: Int32 { epoll.number }

    /// What to wait for. With none of them only an end or an error wakes.
    package struct Interest: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// Bytes to read, a connection to accept, or the peer's end.
        package static let read = Interest(rawValue: EPOLLIN.rawValue | EPOLLRDHUP.rawValue)
        /// Room to write.
        package static let write = Interest(rawValue: EPOLLOUT.rawValue)
    }

    /// One descriptor that is ready.
    package struct Event: Sendable {
        /// What the descriptor was watched with.
        package let token: UInt64
        fileprivate let flags: UInt32

        /// True also at an end or an error, so that a read meets it.
        package var isReadable: Bool {
            flags & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
        }
        /// Whether the descriptor takes bytes.
        package var isWritable: Bool { flags & EPOLLOUT.rawValue != 0 }
        /// Both directions are gone, or the descriptor is broken. The peer's FIN alone is only `isReadable`.
        package var isHungUp: Bool { flags & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 }
    }

    /// Watches a descriptor; its events carry `token`.
    package func add(_ number: Int32, token: UInt64, for interest: Interest) throws(SystemError) {
        try control(EPOLL_CTL_ADD, number, token, interest)
    }

    /// Changes what a watched descriptor is watched for.
    package func change(_ number: Int32, token: UInt64, for interest: Interest) throws(SystemError) {
        try control(EPOLL_CTL_MOD, number, token, interest)
    }

    /// Stops watching, before the descriptor moves to another loop. One that closes needs no call. Events of this
    /// batch may still name it.
    package func remove(_ number: Int32) {
        var event = epoll_event()
        // It fails only for a descriptor that was not watched, which is what the caller wants.
        epoll_ctl(epoll.number, EPOLL_CTL_DEL, number, &event)
    }

    /// Waits until something is ready or `milliseconds` have passed, -1 for ever. Returns how many events there are.
    package mutating func wait(milliseconds: Int32) throws(SystemError) -> Int {
        let count = epoll_wait(epoll.number, &ready, Int32(ready.count), milliseconds)
        if count >= 0 { return Int(count) }
        let number = errno
        // Not retried: a signal that comes again and again would put off the loop's timers for ever.
        if number == EINTR { return 0 }
        throw SystemError(call: "epoll_wait", number: number)
    }

    /// The same for a wait that must end on time to less than a millisecond: Linux can since 5.11.
    package mutating func wait(nanoseconds: Int64) throws(SystemError) -> Int {
        let (milliseconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        if rest == 0 { return try wait(milliseconds: Int32(clamping: milliseconds)) }
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        let count = epoll_pwait2(epoll.number, &ready, Int32(ready.count), &time, nil)
        if count >= 0 { return Int(count) }
        let number = errno
        if number == EINTR { return 0 }
        throw SystemError(call: "epoll_pwait2", number: number)
    }

    /// An event of the last wait; `index` is below its count.
    package func event(_ index: Int) -> Event {
        Event(token: ready[index].data.u64, flags: ready[index].events)
    }

    private func control(
        _ operation: Int32,
        _ number: Int32,
        _ token: UInt64,
        _ interest: Interest
    ) throws(SystemError) {
        var event = epoll_event(events: interest.rawValue, data: epoll_data_t(u64: token))
        try attempt("epoll_ctl") { epoll_ctl(epoll.number, operation, number, &event) }
    }
}
