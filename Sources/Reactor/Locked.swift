import CLinux

/// A value behind a lock. A pthread mutex, not `Mutex`: thread sanitizer can see this one.
package final class Locked<Value>: @unchecked Sendable {
    private var value: Value
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    package init(_ value: sending Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the value while no other thread has it. Keep it short, and call nothing that locks.
    package func withLock<Result>(_ body: (inout Value) -> sending Result) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}

/// One answer from another thread, for a thread that may block until it comes.
package final class Reply<Value: Sendable>: @unchecked Sendable {
    private var value: Value?
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrival = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A change of the wall clock must not end a wait or prolong it.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(arrival, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(arrival)
        pthread_mutex_destroy(mutex)
        arrival.deallocate()
        mutex.deallocate()
    }

    /// Answers. Only the first answer counts.
    package func set(_ value: Value) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if self.value == nil { self.value = value }
        pthread_cond_broadcast(arrival)
    }

    /// Blocks until the answer is there; nil when `milliseconds` pass first.
    package func wait(milliseconds: Int) -> Value? {
        let deadline = Clock.monotonic() + Int64(milliseconds) * 1_000_000
        var end = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while value == nil {
            if pthread_cond_timedwait(arrival, mutex, &end) != 0 { break }
        }
        return value
    }
}

/// Lets a thread that may wait do nothing for so long.
package func idle(milliseconds: Int) {
    // Nobody ever sets it.
    _ = Reply<Bool>().wait(milliseconds: milliseconds)
}
