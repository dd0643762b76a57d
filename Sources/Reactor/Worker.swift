import CLinux

/// A thread with a name. It takes no signals: they belong to `Signals`.
package final class Worker: Sendable {
    private let thread: pthread_t
    private let isJoined = Locked(false)

    /// Most of it is never touched and costs nothing; builds with a sanitizer need several times what others do.
    private static let stackBytes = 4 << 20

    /// Starts the thread. `body` must not rely on an actor; the thread belongs to none.
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, Self.stackBytes)

        // A thread starts with its maker's mask, so there is no moment in which it could take a signal.
        var (blocked, before) = (blockable(), sigset_t())
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let result = pthread_create(&thread, &attributes, run, start.toOpaque())
        guard result == 0 else {
            start.release()
            throw SystemError(call: "pthread_create", number: result)
        }
        self.thread = thread
    }

    deinit {
        isJoined.withLock { isJoined in
            if !isJoined { pthread_detach(thread) }
        }
    }

    /// Blocks until the thread's body has returned. Not for the thread itself.
    package func join() {
        precondition(pthread_equal(pthread_self(), thread) == 0, "a thread cannot join itself")
        isJoined.withLock { isJoined in
            if !isJoined { pthread_join(thread, nil) }
            isJoined = true
        }
    }
}

/// What the new thread needs, on its way there.
private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
    carillon_name_thread(start.name)
    start.body()
    return nil
}

/// Every signal but those that a fault raises in the faulting thread: blocked, they would kill without a backtrace.
private func blockable() -> sigset_t {
    var signals = sigset_t()
    sigfillset(&signals)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&signals, fault) }
    return signals
}
