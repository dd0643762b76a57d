import Glibc
import Reactor
import Testing

@Suite struct WorkerTests {
    @Test func `a joined worker has finished, and joining again returns at once`() throws {
        let done = AtomicCell()
        let worker = try Worker(name: "a name longer than the system keeps") {
            usleep(10_000)
            done.set(1)
        }
        worker.join()
        #expect(done.value == 1)
        worker.join()
    }

    @Test func `a worker that nobody joins still runs`() throws {
        let reply = Reply<Bool>()
        _ = try Worker(name: "alone") { reply.set(true) }
        #expect(reply.wait(milliseconds: 5_000) == true)
    }

    @Test func `a worker can be started from any actor`() async throws {
        try await MainActor.run {
            let reply = Reply<Int>()
            let worker = try Worker(name: "from main") { reply.set(1) }
            worker.join()
            #expect(reply.wait(milliseconds: 0) == 1)
        }
    }

    @Test func `there is room for a deep stack`() throws {
        let reply = Reply<Int>()
        let worker = try Worker(name: "deep") {
            reply.set(withUnsafeTemporaryAllocation(byteCount: 900_000, alignment: 1) { $0.count })
        }
        worker.join()
        #expect(reply.wait(milliseconds: 0) == 900_000)
    }

    @Test func `a worker takes no signal but its own faults, its maker's mask stays`() throws {
        var (usual, before) = (sigset_t(), sigset_t())
        sigaddset(&usual, SIGUSR1)
        pthread_sigmask(SIG_UNBLOCK, &usual, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let blocked = Reply<[Bool]>()
        let worker = try Worker(name: "deaf") { blocked.set([SIGTERM, SIGUSR1, SIGSEGV].map(isBlocked)) }
        worker.join()
        #expect(blocked.wait(milliseconds: 0) == [true, true, false])
        #expect(!isBlocked(SIGUSR1))
    }

    @Test func `the signals an operator sends arrive as values`() throws {
        // In a worker: the mask of the test's own thread stays, and a signal raised there reaches that thread alone.
        let received = Reply<[Signals.Received?]>()
        let worker = try Worker(name: "signals") {
            guard var signals = try? Signals() else { return }  // No reply then, and the expectation below fails.
            var heard: [Signals.Received?] = [signals.next()]
            for signal in [SIGHUP, SIGTERM, SIGINT] {
                raise(signal)
                heard += [signals.next(), signals.next()]
            }
            received.set(heard)
        }
        worker.join()
        #expect(received.wait(milliseconds: 0) == [nil, .reload, nil, .stop, nil, .stop, nil])
    }
}

private func isBlocked(_ signal: Int32) -> Bool {
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return sigismember(&mask, signal) == 1
}
