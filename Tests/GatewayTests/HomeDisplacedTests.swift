import PushCore
import Reactor
import Storage
import TestSupport
import Testing

@testable import Gateway

/// Pushes that were in flight when a newer one took their place, and the store's failures.
@Suite struct HomeDisplacedTests {
    private let failure = StoreError(.test, "a test made it fail", file: "the store")

    @Test func `what was in flight comes back when its session ends and its heir is lost`() throws {
        var bench = try sentAndStored()
        try bench.offer(collapseID: "score")
        bench.disconnect()
        bench.pass(Limits.writeDelay)
        #expect(bench.commit(failure).contains("discard 1") == false)
        try bench.connect()
        #expect(bench.effects().last == "notify 1 over 2")
    }

    @Test func `what was in flight leaves the store when its session has ended and its heir is in it`() throws {
        var bench = try sentAndStored()
        try bench.offer(collapseID: "score")
        bench.disconnect()
        bench.pass(Limits.writeDelay)
        #expect(bench.commit() == ["append 2"])
        #expect(bench.changes() == ["discard 1"] && bench.metrics.held.value == 1)
    }

    @Test func `what is in flight leaves the store once its heir is in it, so that no crash brings it back`() throws {
        var bench = try sentAndStored()
        try bench.offer(collapseID: "score")
        bench.pass(Limits.writeDelay)
        #expect(bench.commit() == ["append 2"])
        #expect(bench.changes() == ["discard 1"])
        bench.acknowledge(2)
        bench.acknowledge(1)
        #expect(bench.events().suffix(2) == ["delivered 2", "delivered 1"] && bench.metrics.held.value == 0)
    }

    @Test func `what is in flight leaves the store with a newer one that was delivered and never written`() throws {
        var bench = try sentAndStored()
        try bench.offer(collapseID: "score")
        bench.acknowledge(2)
        #expect(bench.changes() == ["discard 1"])
    }

    @Test func `what is in flight leaves the store when a newer one was sent once`() throws {
        var bench = try sentAndStored()
        try bench.offer(collapseID: "score", [.expiration: "0"])
        #expect(bench.changes() == ["discard 1"])
    }

    @Test func `what has no answer yet is written before it leaves the store`() throws {
        var bench = try HomeBench.live()
        for _ in 1...2 { try bench.offer(collapseID: "score") }
        bench.acknowledge(2)
        #expect(bench.changes().isEmpty)
        bench.pass(Limits.writeDelay)
        #expect(bench.commit() == ["append 1"])
        #expect(bench.changes() == ["discard 1"] && bench.answers() == ["answer 2 200", "answer 1 200"])
    }

    @Test func `what was not acknowledged in time comes back when its heir is lost`() throws {
        var bench = try sentAndStored()
        bench.pass(.milliseconds(59_930))
        try bench.offer(collapseID: "score")
        bench.pass(.milliseconds(30))
        bench.pass(Limits.writeDelay)
        #expect(bench.commit(failure).contains("discard 1") == false)
        try bench.connect()
        #expect(bench.effects().last == "notify 1 over 2")
    }

    @Test func `what has no answer yet is refused with its heir when its session ends`() throws {
        var bench = try HomeBench.live()
        for _ in 1...2 { try bench.offer(collapseID: "score") }
        bench.disconnect()
        bench.pass(Limits.writeDelay)
        bench.commit(failure)
        #expect(bench.answers() == ["answer 2 503 ServiceUnavailable", "answer 1 503 ServiceUnavailable"])
    }

    @Test func `a push that was promised comes back though an older one is in flight`() throws {
        var bench = try sentAndStored { $0.deliveryWindow = 1 }
        try bench.offer(collapseID: "score")
        bench.pass(Limits.writeDelay)
        bench.commit()
        try bench.offer(collapseID: "score")
        bench.commit(failure)
        #expect(bench.device.queue.held(for: bench.registration.number).map(\.number) == [1, 2])
        bench.disconnect()
        #expect(bench.device.queue.held(for: bench.registration.number).map(\.number) == [2])
    }

    @Test func `a drain gives back what two refused pushes have replaced`() throws {
        var bench = HomeBench()
        try bench.offer(collapseID: "score")
        bench.commit()
        try bench.offer(collapseID: "score")
        try bench.connect()
        try bench.offer(collapseID: "score")
        bench.home.refuseUnanswered(at: bench.now)
        #expect(bench.device.queue.held(for: bench.registration.number).map(\.number) == [1])
        #expect(bench.changes().contains("discard 1") == false && bench.metrics.held.value == 1)
    }

    @Test func `what a refused push had replaced does not follow a newer one that was delivered`() throws {
        var bench = HomeBench()
        try bench.offer(collapseID: "score")
        bench.commit()
        try bench.offer(collapseID: "score")
        try bench.connect()
        try bench.offer(collapseID: "score")
        _ = bench.effects()
        bench.acknowledge(3)
        #expect(bench.commit(failure) == ["append 2", "discard 1"])
        #expect(bench.answers() == ["answer 3 200", "answer 2 503 ServiceUnavailable"])
        #expect(bench.effects().isEmpty && bench.metrics.held.value == 0)
    }

    @Test func `what a delivered push has replaced does not come back with the refusal of a newer one`() throws {
        var bench = try sentAndStored()
        try bench.offer(collapseID: "score")
        bench.acknowledge(2)
        try bench.offer(collapseID: "score")
        bench.disconnect()
        bench.pass(Limits.writeDelay)
        bench.commit(failure)
        #expect(bench.answers().last == "answer 3 503 ServiceUnavailable")
        try bench.connect()
        #expect(bench.effects().contains { $0.contains("notify 1") } == false && bench.metrics.held.value == 0)
    }

    @Test func `what an expired push has replaced does not come back with the refusal of a newer one`() throws {
        var bench = try sentAndStored()
        try bench.offer(collapseID: "score", [.expiration: "\(bench.now.seconds + 1)"])
        bench.pass(Limits.writeDelay)
        bench.commit()
        bench.pass(.milliseconds(59_880))
        try bench.offer(collapseID: "score")
        // First 1 has waited for its acknowledgement for too long, then 2, which has expired meanwhile.
        for _ in 1...2 { bench.pass(Limits.writeDelay) }
        bench.commit(failure)
        #expect(bench.answers() == ["answer 2 200", "answer 3 503 ServiceUnavailable"])
        bench.disconnect()
        try bench.connect()
        #expect(bench.effects().contains { $0.contains("notify 1") } == false && bench.metrics.held.value == 0)
    }

    @Test func `what had to leave a full queue is replaced by what comes later, too`() throws {
        var bench = HomeBench { $0.queueMode = .apple }
        try bench.offer(collapseID: "score")
        bench.commit()
        try bench.offer(collapseID: "other")
        try bench.connect()
        try bench.offer(collapseID: "score")
        bench.acknowledge(3)
        _ = bench.effects()
        #expect(bench.commit(failure) == ["append 2", "discard 1"])
        #expect(bench.answers() == ["answer 2 503 ServiceUnavailable"])
        #expect(bench.effects().isEmpty && bench.metrics.held.value == 0)
    }

    /// One whose push 1 is in flight and in the store.
    private func sentAndStored(change: (inout Config) -> Void = { _ in }) throws -> HomeBench {
        var bench = try HomeBench.live(change: change)
        try bench.offer(collapseID: "score")
        bench.pass(Limits.writeDelay)
        bench.commit()
        _ = (bench.effects(), bench.events())
        return bench
    }
}
