import PushCore
import TestSupport
import Testing

@Suite struct DeviceQueuePowerTests {
    @Test func `priority 10 goes to a sleeping device`() {
        var bench = QueueBench.live(awake: false)
        bench.add(Sample.push(1))
        #expect(bench.asked() == ["send 1"])
    }

    @Test(arguments: [Priority.powerAware, .powerFirst])
    func `a lower priority waits while the device sleeps`(_ priority: Priority) {
        var bench = QueueBench.live(awake: false)
        bench.add(Sample.push(1, priority: priority))
        #expect(bench.asked() == ["stored-power 1"])
    }

    @Test func `waking brings all that waits, as from storage but without a flag`() {
        var bench = QueueBench.live(awake: false)
        bench.add([Sample.push(1, priority: .powerFirst), Sample.push(2, priority: .powerAware)])
        bench.wake()
        #expect(bench.sent() == ["send 2", "send 1"])
        bench.acknowledge(1)
        #expect(bench.asked() == ["delivered 1 from storage"])
    }

    @Test func `priority 5 waits no longer than its delay`() {
        var bench = QueueBench.live(awake: false)
        bench.add(Sample.push(1, priority: .powerAware))
        #expect(bench.queue.nextDeadline(after: bench.now) == Sample.now + .seconds(30))
        bench.pass(.seconds(29))
        #expect(bench.sent() == [])
        bench.pass(.seconds(1))
        #expect(bench.sent() == ["send 1"])
    }

    @Test func `priority 1 waits for as long as it takes`() {
        var bench = QueueBench.live(awake: false)
        bench.add(Sample.push(1, priority: .powerFirst, expires: Sample.now + .days(30)))
        #expect(bench.queue.nextDeadline(after: bench.now) == nil)
        bench.pass(.days(29))
        #expect(bench.sent() == [])
    }

    @Test func `priority 5 leaves with a 10 and priority 1 does not`() {
        var bench = QueueBench.live(lanes: 1...2, awake: false)
        bench.add([Sample.push(1, priority: .powerFirst), Sample.push(2, priority: .powerAware)])
        bench.add(Sample.push(3, registration: 2))
        #expect(bench.sent() == ["send 3", "send 2"])
    }

    @Test func `priority 5 leaves with a 10 that goes once`() {
        var bench = QueueBench.live(awake: false)
        bench.add([Sample.push(1, priority: .powerAware), Sample.once(2)])
        #expect(bench.sent() == ["send 2", "send 1"])
    }

    @Test func `what left with a 10 and found the window full goes when there is a place`() {
        var bench = QueueBench.live(awake: false) { $0.window = 1 }
        bench.add([Sample.push(1, priority: .powerAware), Sample.push(2)])
        #expect(bench.sent() == ["send 2"])
        bench.acknowledge(2)
        #expect(bench.sent() == ["send 1"])
    }

    @Test func `priority 5 that comes after the 10 waits`() {
        var bench = QueueBench.live(awake: false)
        bench.add([Sample.push(1), Sample.push(2, priority: .powerAware)])
        #expect(bench.sent() == ["send 1"])
    }

    @Test func `priority 5 of an opportunistic topic waits until the device is awake`() {
        var bench = QueueBench()
        bench.connect(awake: false, mode: .opportunistic)
        bench.add([Sample.push(1, priority: .powerAware), Sample.push(2)])
        #expect(bench.queue.nextDeadline(after: bench.now) == bench.now + .seconds(60))
        bench.acknowledge(2)
        bench.pass(.seconds(300))
        #expect(bench.sent() == ["send 2"])
        bench.wake()
        #expect(bench.sent() == ["send 1"])
    }

    @Test func `falling asleep holds what comes then`() {
        var bench = QueueBench.live()
        bench.wake(false)
        bench.add(Sample.push(1, priority: .powerAware))
        #expect(bench.sent() == [])
    }

    @Test func `being awake is not remembered over sessions`() {
        var bench = QueueBench.live(awake: false)
        bench.wake()
        bench.close()
        bench.queue.setAwake(true)
        #expect(bench.queue.isAwake == nil)
        bench.connect(awake: false)
        #expect(bench.queue.isAwake == false)
    }

    @Test func `a deadline that has passed is not asked for again`() {
        var bench = QueueBench.live(awake: false) { $0.window = 1 }
        bench.add([Sample.push(1), Sample.push(2, priority: .powerAware)])
        bench.pass(.seconds(30))
        #expect(bench.sent() == ["send 1"])
        #expect(bench.queue.nextDeadline(after: bench.now) == Sample.now + .seconds(60))
    }
}
