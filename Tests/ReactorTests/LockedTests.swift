import Reactor
import Testing

@Suite struct LockedTests {
    @Test func `no addition is lost between threads`() throws {
        let total = Locked(0)
        let cell = AtomicCell()
        let workers = try (0..<4).map { _ in
            try Worker(name: "adder") {
                for _ in 0..<10_000 {
                    total.withLock { $0 += 1 }
                    cell.add(1)
                }
            }
        }
        for worker in workers { worker.join() }
        #expect(total.withLock { $0 } == 40_000)
        #expect(cell.value == 40_000)
        cell.set(-3)
        cell.add(-1)
        #expect(cell.value == -4)
    }

    @Test func `a reply from another thread ends the wait`() throws {
        let reply = Reply<String>()
        let worker = try Worker(name: "answerer") { reply.set("yes") }
        #expect(reply.wait(milliseconds: 5_000) == "yes")
        worker.join()
    }

    @Test func `only the first answer counts, and it stays`() {
        let reply = Reply<Int>()
        reply.set(1)
        reply.set(2)
        #expect(reply.wait(milliseconds: 0) == 1)
        #expect(reply.wait(milliseconds: 0) == 1)
    }

    @Test func `a wait without an answer ends`() {
        let before = Clock.monotonic()
        #expect(Reply<Int>().wait(milliseconds: 20) == nil)
        #expect(Clock.monotonic() - before >= 20_000_000)
    }
}
