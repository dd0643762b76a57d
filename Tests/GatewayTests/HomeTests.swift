import PushCore
import Reactor
import Storage
import TestSupport
import Testing

@testable import Gateway

/// What becomes of a push at home: its answer, its place in the store, its line in the delivery log.
@Suite struct HomeTests {
    let failure = StoreError(.test, "a test", file: "none")

    // MARK: Refusals

    @Test func `a token that was never given is bad`() throws {
        var bench = HomeBench()
        try bench.offer(to: Sample.token(9))
        #expect(bench.effects() == ["answer 1 400 BadDeviceToken"])
        #expect(bench.events() == [] && bench.changes() == [])
    }

    @Test func `a dead token says since when`() throws {
        var bench = HomeBench()
        bench.now = Sample.now + .seconds(5)
        bench.home.revoke(bench.registration, at: bench.now)
        try bench.offer()
        #expect(bench.effects() == ["answer 1 410 Unregistered 1700000005"])
    }

    @Test func `an expired token has a reason of its own`() throws {
        var bench = HomeBench()
        bench.home.adopt(HomeBench.record(2, token: Sample.token(2), state: .expired), topic: HomeBench.topic)
        try bench.offer(to: Sample.token(2))
        #expect(bench.effects() == ["answer 1 410 ExpiredToken 1700000000"])
    }

    @Test func `a token is for one topic only`() throws {
        var bench = HomeBench()
        try bench.offer(topic: HomeBench.voip)
        #expect(bench.effects() == ["answer 1 400 DeviceTokenNotForTopic"])
    }

    @Test func `a dead token is told before a wrong topic`() throws {
        var bench = HomeBench()
        bench.home.revoke(bench.registration, at: bench.now)
        try bench.offer(topic: HomeBench.voip)
        #expect(bench.effects() == ["answer 1 410 Unregistered 1700000000"])
    }

    @Test func `a token's rate is counted by the second`() throws {
        var bench = HomeBench { $0.providerTokenRate = 1 }
        try bench.offer([.expiration: "0"])
        try bench.offer([.expiration: "0"])
        bench.now = bench.now + .seconds(1)
        try bench.offer([.expiration: "0"])
        #expect(bench.effects() == ["answer 1 200", "answer 2 429 TooManyRequests", "answer 3 200"])
    }

    @Test func `a push too many leaves nothing behind`() throws {
        var bench = try HomeBench.live { ($0.deliveryWindow, $0.deliveryBacklog) = (1, 1) }
        for _ in 1...3 { try bench.offer() }
        #expect(bench.answers() == ["answer 3 429 TooManyRequests"])
        #expect(bench.metrics.held.value == 2)
        #expect(bench.events() == ["received 1", "received 2"])
    }

    // MARK: Payloads

    /// One whose device was away so long that the store alone has the payloads of two pushes, and has come back.
    private func returned() throws -> HomeBench {
        var bench = HomeBench()
        for _ in 1...2 { try bench.offer() }
        bench.commit()
        _ = (bench.effects(), bench.events())
        bench.now = bench.now + Limits.payloadYouth + .seconds(1)
        bench.sweep()
        try bench.connect()
        return bench
    }

    @Test func `old payloads are asked of the store once, and sent in order`() throws {
        let bench = try returned()
        bench.home.tick(bench.device, at: bench.now)
        let wanted = bench.home.takeWanted()
        #expect(wanted.map(\.number) == [1, 2] && bench.effects() == [] && bench.home.takeWanted().isEmpty)
        #expect(bench.home.loaded(wanted, [[1], [2]], at: bench.now) == [])
        #expect(bench.effects() == ["notify 1 over 1", "notify 2 over 1"])
        #expect(bench.device.queue.push(numbered: 2)?.content.payload == [2])
    }

    @Test func `payloads that cannot be read are asked for again`() throws {
        let bench = try returned()
        bench.home.failedToLoad(bench.home.takeWanted())
        bench.home.tick(bench.device, at: bench.now)
        #expect(bench.effects() == [] && bench.home.takeWanted().isEmpty)
        #expect(bench.home.takeUnread().map { $0 === bench.device } == [true])
        bench.home.goOn(bench.device, at: bench.now)
        #expect(bench.home.takeWanted().map(\.number) == [1, 2])
    }

    @Test func `what a device lacks is asked for once, however many came and were acknowledged`() throws {
        var bench = HomeBench { $0.deliveryWindow = 2 }
        for _ in 1...6 { try bench.offer() }
        bench.commit()
        bench.now = bench.now + Limits.payloadYouth + .seconds(1)
        bench.sweep()
        try bench.connect()
        for first in [UInt64(1), 3, 5] {
            let wanted = bench.home.takeWanted()
            #expect(wanted.map(\.number) == [first, first + 1])
            #expect(bench.home.loaded(wanted, [[1], [2]], at: bench.now) == [])
            // Both were sent, and the next are asked for only when there is room for them again.
            #expect(bench.home.takeWanted().isEmpty)
            bench.acknowledge(UInt32(first))
            bench.acknowledge(UInt32(first + 1))
        }
        #expect(bench.metrics.held.value == 0)
    }

    @Test func `a push that the store has lost ends, and the next goes out`() throws {
        let bench = try returned()
        #expect(bench.home.loaded(bench.home.takeWanted(), [nil, [2]], at: bench.now) == [1])
        #expect(bench.events() == ["discarded-undeliverable 1"] && bench.effects() == ["notify 2 over 1"])
        #expect(bench.metrics.held.value == 1)
    }

    @Test func `a device whose last old push was lost asks for the next old one`() throws {
        var bench = try returned()
        let wanted = bench.home.takeWanted()
        #expect(bench.home.loaded(wanted, [nil, nil], at: bench.now) == [1, 2])
        bench.disconnect()
        try bench.offer()
        bench.commit()
        bench.now = bench.now + Limits.payloadYouth + .seconds(1)
        bench.sweep()
        try bench.connect()
        #expect(bench.home.takeWanted().map(\.number) == [3])
    }

    @Test func `what was read for a session that is gone serves the next`() throws {
        var bench = try returned()
        let wanted = bench.home.takeWanted()
        bench.disconnect()
        _ = bench.home.loaded(wanted, [[1], [2]], at: bench.now)
        try bench.connect()
        #expect(bench.home.takeWanted().isEmpty && bench.effects() == ["notify 1 over 2", "notify 2 over 2"])
    }

    // MARK: Durable

    @Test func `a push for an absent device is answered when it is durable`() throws {
        var bench = HomeBench()
        try bench.offer()
        #expect(bench.effects() == [])
        #expect(bench.commit() == ["append 1"])
        #expect(bench.effects() == ["answer 1 200"])
        #expect(bench.events() == ["received 1", "stored-offline 1"])
    }

    @Test func `a push acknowledged before its batch needs no write`() throws {
        var bench = try HomeBench.live()
        try bench.offer()
        #expect(bench.effects() == ["notify 1 over 1"])
        bench.acknowledge(1)
        #expect(bench.effects() == ["answer 1 200"])
        bench.pass(.seconds(1))
        #expect(bench.changes() == [])
        #expect(bench.events() == ["received 1", "delivered 1"])
    }

    @Test func `a push for a live device is written when no acknowledgement comes soon`() throws {
        var bench = try HomeBench.live()
        try bench.offer()
        #expect(bench.home.nextDelayed == bench.now + Limits.writeDelay)
        bench.pass(Limits.writeDelay + .milliseconds(-1))
        #expect(bench.changes() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.home.nextDelayed == nil)
        #expect(bench.commit() == ["append 1"])
        #expect(bench.answers() == ["answer 1 200"])
    }

    @Test func `a push that a live device will not get now is written at once`() throws {
        var bench = HomeBench()
        try bench.connect(awake: false)
        try bench.offer([.priority: "5"])
        #expect(bench.commit() == ["append 1"])
        #expect(bench.answers() == ["answer 1 200"])
    }

    @Test func `an acknowledgement after the write lets the store forget and answers once`() throws {
        var bench = try HomeBench.live()
        try bench.offer()
        bench.pass(Limits.writeDelay)
        let (_, pushes) = bench.home.takeChanges()
        bench.acknowledge(1)
        #expect(bench.answers() == ["answer 1 200"])
        #expect(bench.changes() == ["discard 1"])
        bench.home.committed(pushes, nil, at: bench.now)
        #expect(bench.answers() == [])
    }

    @Test func `an acknowledgement between writing down and handing over still lets the store forget`() throws {
        var bench = try HomeBench.live()
        try bench.offer()
        bench.pass(Limits.writeDelay)
        bench.acknowledge(1)
        #expect(bench.changes() == ["append 1", "discard 1"])
    }

    @Test func `a push that could not be written is refused and not sent any more`() throws {
        var bench = HomeBench()
        try bench.offer()
        bench.commit(failure)
        #expect(bench.effects() == ["answer 1 503 ServiceUnavailable"])
        try bench.connect()
        #expect(bench.effects() == [])
        #expect(bench.metrics.held.value == 0)
    }

    @Test func `a push that was acknowledged does not mind that it could not be written`() throws {
        var bench = try HomeBench.live()
        try bench.offer()
        bench.pass(Limits.writeDelay)
        let (_, pushes) = bench.home.takeChanges()
        bench.acknowledge(1)
        bench.home.committed(pushes, failure, at: bench.now)
        #expect(bench.answers() == ["answer 1 200"])
        #expect(bench.metrics.held.value == 0)
    }

    @Test func `a push that is taken back gives its place in the window to the next`() throws {
        var bench = try HomeBench.live { $0.deliveryWindow = 1 }
        try bench.offer()
        bench.pass(Limits.writeDelay)
        try bench.offer()
        _ = bench.effects()
        bench.commit(failure)
        #expect(bench.effects() == ["answer 1 503 ServiceUnavailable", "notify 2 over 1"])
    }

    @Test func `a push leaves the store once the one that takes its place is in it`() throws {
        var bench = try HomeBench.live { $0.deliveryWindow = 1 }
        try bench.offer()
        try bench.offer(collapseID: "score")
        bench.pass(Limits.writeDelay)
        bench.commit()
        try bench.offer(collapseID: "score")
        #expect(bench.commit() == ["append 3"])
        #expect(bench.changes() == ["discard 2"])
    }

    @Test func `a push that another takes the place of is answered with it`() throws {
        var bench = HomeBench()
        for _ in 1...3 { try bench.offer(collapseID: "score") }
        #expect(bench.answers() == [])
        #expect(bench.commit() == ["append 1", "discard 1", "append 2", "discard 2", "append 3"])
        #expect(bench.answers() == ["answer 3 200", "answer 2 200", "answer 1 200"])
        #expect(bench.metrics.held.value == 1)
    }

    @Test func `a push that gave its place to one that is lost is refused with it`() throws {
        var bench = HomeBench { $0.queueLimit = 1 }
        for _ in 1...2 { try bench.offer() }
        bench.commit(failure)
        #expect(bench.answers() == ["answer 2 503 ServiceUnavailable", "answer 1 503 ServiceUnavailable"])
        #expect(bench.metrics.held.value == 0)
    }

    @Test(arguments: ["score", ""])
    func `a push that was promised comes back when the one in its place is refused`(_ collapseID: String) throws {
        var bench = HomeBench { $0.queueLimit = 1 }
        try bench.offer(collapseID: collapseID)
        bench.commit()
        _ = (bench.effects(), bench.events())
        for _ in 2...3 { try bench.offer(collapseID: collapseID) }
        bench.commit(failure)
        #expect(bench.answers() == ["answer 3 503 ServiceUnavailable", "answer 2 503 ServiceUnavailable"])
        #expect(bench.changes().filter { $0 == "discard 1" } == [] && bench.metrics.held.value == 1)
        #expect(bench.events().contains { $0.hasSuffix(" 1") } == false)
        try bench.connect()
        #expect(bench.effects() == ["notify 1 over 1"])
    }

    @Test func `a drain gives the place of a refused push back`() throws {
        var bench = HomeBench()
        try bench.offer(collapseID: "score")
        bench.commit()
        try bench.offer(collapseID: "score")
        _ = (bench.effects(), bench.changes())
        bench.home.refuseUnanswered(at: bench.now)
        #expect(bench.answers() == ["answer 2 503 Shutdown"])
        #expect(bench.changes() == ["discard 2"] && bench.metrics.held.value == 1)
    }

    @Test func `a push that gives its place to one for once is answered at once`() throws {
        var bench = HomeBench()
        try bench.offer(collapseID: "score")
        try bench.offer(collapseID: "score", [.expiration: "0"])
        #expect(bench.answers() == ["answer 2 200", "answer 1 200"])
    }

    @Test func `a push for an ignored topic is answered, logged and not written`() throws {
        var bench = try HomeBench.live()
        _ = bench.home.filter(bench.device, [HomeBench.topic.hash: .ignored], at: bench.now)
        try bench.offer()
        #expect(bench.effects() == ["answer 1 200"])
        #expect(bench.changes() == [])
        #expect(bench.events() == ["received 1", "discarded-disabled 1"])
    }

    @Test func `a batch names only the pushes handed over with it`() throws {
        var bench = HomeBench()
        try bench.offer()
        let (_, first) = bench.home.takeChanges()
        try bench.offer()
        bench.home.committed(first, nil, at: bench.now)
        #expect(bench.answers() == ["answer 1 200"])
    }

    // MARK: Once

    @Test func `a push for once is answered at once and never written`() throws {
        var bench = try HomeBench.live()
        try bench.offer([.expiration: "0"])
        #expect(bench.effects() == ["answer 1 200", "notify 1 over 1"])
        bench.acknowledge(1)
        bench.pass(.seconds(1))
        #expect(bench.changes() == [] && bench.effects() == [])
        #expect(bench.metrics.held.value == 0)
    }

    @Test func `a push for once without a session is answered once and gone`() throws {
        var bench = HomeBench()
        try bench.offer([.expiration: "0"])
        #expect(bench.effects() == ["answer 1 200"])
        #expect(bench.changes() == [] && bench.metrics.held.value == 0)
        #expect(bench.events() == ["received 1", "discarded-expired 1"])
    }

    @Test func `priority 5 follows a push for once to a sleeping device`() throws {
        var bench = HomeBench()
        try bench.connect(awake: false)
        try bench.offer([.priority: "5"])
        try bench.offer([.expiration: "0"])
        #expect(bench.effects().filter { $0.hasPrefix("notify") } == ["notify 2 over 1", "notify 1 over 1"])
    }

    // MARK: The log

    @Test(arguments: zip([LogDeliveries.off, .discarded, .all], [0, 1, 2]))
    func `the delivery log takes what it is set to`(_ setting: LogDeliveries, _ count: Int) throws {
        var bench = HomeBench { $0.logDeliveries = setting }
        try bench.offer([.expiration: "0"])
        #expect(bench.events().count == count)
    }

    @Test func `a line of the delivery log names device, topic and the token's start`() throws {
        var bench = HomeBench()
        try bench.offer()
        let event = try #require(bench.home.events.first)
        #expect(event.device == HomeBench.deviceID && event.topic == "com.example.app")
        #expect(event.tokenPrefix == "abcd0101")
    }
}
