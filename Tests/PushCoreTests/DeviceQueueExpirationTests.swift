import PushCore
import TestSupport
import Testing

@Suite struct DeviceQueueExpirationTests {
    @Test func `what expired while it waited is not sent`() {
        var bench = QueueBench()
        bench.add([Sample.push(1, expires: Sample.now + .seconds(60)), Sample.push(2)])
        _ = bench.asked()
        bench.pass(.seconds(60))
        bench.connect()
        #expect(bench.asked() == ["expired 1 from storage", "send 2 last"])
    }

    @Test func `expiration is looked at when a push is taken`() {
        var bench = QueueBench.live { $0.window = 1 }
        bench.add([Sample.push(1), Sample.push(2, expires: Sample.now + .seconds(1)), Sample.push(3)])
        bench.now = Sample.now + .seconds(2)
        bench.acknowledge(1)
        #expect(bench.asked() == ["send 1", "delivered 1", "expired 2", "send 3"])
    }

    @Test func `what expired in flight is not sent again`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1, expires: Sample.now + .seconds(30)))
        bench.pass(.seconds(60))
        #expect(bench.asked() == ["send 1", "expired 1"])
        #expect(bench.queue.heldCount == 0)
    }

    @Test func `the last moment is still good`() {
        var bench = QueueBench()
        bench.add(Sample.push(1, expires: Sample.now + .seconds(60)))
        bench.pass(.seconds(59))
        bench.connect()
        #expect(bench.sent() == ["send 1 last"])
    }

    @Test func `what expired is dropped without a session too`() {
        var bench = QueueBench(lanes: 1...2)
        bench.add([Sample.push(1, expires: Sample.now + .seconds(1)), Sample.push(2, registration: 2)])
        var effects: [QueueEffect] = []
        bench.queue.dropExpired(at: Sample.now + .seconds(1), into: &effects)
        #expect(effects.map(\.words) == ["expired 1 from storage"])
        #expect(bench.queue.waitingCount == 1)
    }

    @Test(arguments: [Moment(nanoseconds: 0), Sample.now + Interval.seconds(-60), Sample.now])
    func `a push for once goes to a live session and is never stored`(_ expires: Moment) {
        var bench = QueueBench.live()
        #expect(bench.add(Sample.push(1, expires: expires)) == .once)
        #expect(bench.asked() == ["send 1"])
        bench.acknowledge(1)
        #expect(bench.asked() == ["delivered 1"])
    }

    @Test func `a push for once without a session is discarded`() {
        var bench = QueueBench()
        #expect(bench.add(Sample.once(1)) == .discarded)
        #expect(bench.asked() == ["expired 1"])
    }

    @Test(arguments: [TopicMode.unlisted, .paused])
    func `a push for once whose topic is not enabled is discarded`(_ mode: TopicMode) {
        var bench = QueueBench()
        bench.connect(mode: mode)
        #expect(bench.add(Sample.once(1)) == .discarded)
        #expect(bench.asked() == ["expired 1"])
    }

    @Test func `a push for once is discarded when the window is full`() {
        var bench = QueueBench.live { $0.window = 1 }
        bench.add([Sample.push(1), Sample.once(2)])
        #expect(bench.asked() == ["send 1", "expired 2"])
        #expect(bench.queue.waitingCount == 0)
    }

    @Test func `a push for once is discarded when there is no room`() {
        var bench = QueueBench.live()
        bench.room = 100
        bench.add(Sample.once(1))
        #expect(bench.asked() == ["expired 1"])
    }

    @Test func `a push for once that finds no room does not keep back what stands behind it`() {
        var bench = QueueBench.live()
        bench.room = 0
        bench.add(Sample.push(1, priority: .powerAware))
        bench.room = Limits.frameOverhead + 50
        bench.add(Sample.push(2, expires: Sample.now, payload: [UInt8](repeating: 32, count: 100)))
        #expect(bench.asked() == ["expired 2", "send 1"])
    }

    @Test func `a push for once does not overtake what waits for room`() {
        var bench = QueueBench.live()
        bench.room = Limits.frameOverhead + 50
        bench.add([Sample.push(1, payload: [UInt8](repeating: 32, count: 100)), Sample.once(2)])
        #expect(bench.asked() == ["expired 2"])
    }

    @Test(arguments: [Priority.powerAware, .powerFirst])
    func `a push for once that is not urgent is discarded while the device sleeps`(_ priority: Priority) {
        var bench = QueueBench.live(awake: false)
        #expect(bench.add(Sample.once(1, priority: priority)) == .discarded)
        #expect(bench.asked() == ["expired 1"])
    }

    @Test func `a push for once is not refused for what waits`() {
        var bench = QueueBench.live(awake: false) { $0.backlog = 1 }
        bench.add([Sample.push(1, priority: .powerFirst), Sample.once(2)])
        #expect(bench.sent() == ["send 2"])
    }

    @Test func `a push for once is not sent again on the same session`() {
        var bench = QueueBench.live()
        bench.add(Sample.once(1))
        bench.pass(.seconds(60))
        #expect(bench.asked() == ["send 1", "expired 1"])
    }

    @Test func `a push for once is not sent on the next session`() {
        var bench = QueueBench.live()
        bench.add(Sample.once(1))
        bench.connect()
        #expect(bench.asked() == ["send 1", "expired 1"])
        #expect(bench.queue.heldCount == 0)
    }
}
