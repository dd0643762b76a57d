import PushCore
import TestSupport
import Testing

@Suite struct DeviceQueueTests {
    @Test func `a push for a live device is sent at once`() {
        var bench = QueueBench.live()
        #expect(bench.add(Sample.push(1)) == .accepted)
        #expect(bench.asked() == ["send 1"])
        #expect(bench.queue.flightCount == 1 && bench.queue.waitingCount == 0)
    }

    @Test func `a push for an absent device waits and is told to be stored`() {
        var bench = QueueBench()
        #expect(bench.add(Sample.push(1)) == .accepted)
        #expect(bench.asked() == ["stored-offline 1"])
        #expect(bench.queue.waitingCount == 1)
    }

    @Test func `priority goes before age and age before anything else`() {
        var bench = QueueBench(lanes: 1...2)
        let priorities: [Priority] = [.powerFirst, .powerAware, .immediate, .powerFirst, .powerAware, .immediate]
        for (index, priority) in priorities.enumerated() {
            bench.add(Sample.push(UInt64(index + 1), registration: UInt64(index % 2 + 1), priority: priority))
        }
        bench.connect()
        let order = ["send 3", "send 6", "send 2", "send 5", "send 1", "send 4"]
        #expect(bench.sent().map { $0.split(separator: " ").prefix(2).joined(separator: " ") } == order)
    }

    @Test func `age counts over all enabled topics`() {
        var bench = QueueBench(lanes: 1...3)
        for number in 1...6 { bench.add(Sample.push(UInt64(number), registration: UInt64(3 - (number - 1) % 3))) }
        bench.open()
        bench.filter { $0 == 2 ? .unlisted : .enabled }
        #expect(bench.sent() == ["send 1 stored", "send 3 stored", "send 4 stored", "send 6 last"])
    }

    @Test func `no more than the window is in flight`() {
        var bench = QueueBench.live { $0.window = 2 }
        bench.add((1...4).map { Sample.push($0) })
        #expect(bench.sent() == ["send 1", "send 2"])
        bench.acknowledge(1)
        #expect(bench.sent() == ["send 3"])
    }

    @Test func `frames are made only while bytes allow`() {
        var bench = QueueBench.live()
        bench.room = 2 * (Limits.frameOverhead + 10)
        bench.add((1...3).map { Sample.push($0) })
        #expect(bench.sent() == ["send 1", "send 2"])
        bench.room = Limits.unsentBytes
        bench.pump()
        #expect(bench.sent() == ["send 3"])
    }

    @Test func `what finds no room is not overtaken by something smaller or less urgent`() {
        var bench = QueueBench.live(lanes: 1...2)
        bench.room = Limits.frameOverhead + 50
        bench.add(Sample.push(1, payload: [UInt8](repeating: 32, count: 100)))
        bench.add(Sample.push(2, registration: 2))
        bench.add(Sample.push(3, priority: .powerAware))
        #expect(bench.sent() == [])
    }

    @Test func `adding a topic again changes nothing`() {
        var bench = QueueBench.live()
        bench.queue.addLane(registration: 1, app: 9)
        #expect(bench.queue.mode(of: 1) == .enabled)
        #expect(bench.queue.mode(of: 2) == .unlisted)
    }

    @Test func `what is held is told in the order it would be sent`() {
        var bench = QueueBench.live(lanes: 1...2) { $0.window = 1 }
        bench.add(Sample.push(1, priority: .powerAware))
        bench.add(Sample.push(2, priority: .powerAware))
        bench.add(Sample.push(3))
        bench.add(Sample.push(4, registration: 2))
        #expect(bench.queue.held(for: 1).map(\.number) == [1, 3, 2])
        #expect(bench.queue.heldCount == 4)
    }

    @Test func `the oldest is found in flight and waiting`() {
        var bench = QueueBench.live { $0.window = 1 }
        #expect(bench.queue.oldest == nil)
        bench.add(Sample.push(1, at: Sample.now))
        bench.add(Sample.push(2, priority: .powerFirst, at: Sample.now + .seconds(1)))
        #expect(bench.queue.oldest == Sample.now)
        bench.acknowledge(1)
        bench.close()
        #expect(bench.queue.oldest == Sample.now + .seconds(1))
    }

    @Test func `a clock that is set back puts off no resend`() {
        var bench = QueueBench.live()
        bench.add([Sample.push(1)])
        bench.now = bench.now - .seconds(3600)
        bench.queue.goBack(by: .seconds(3600))
        bench.pass(bench.queue.policy.acknowledgementTimeout)
        #expect(bench.sent() == ["send 1", "resend 1"])
    }

    @Test func `a withdrawn push leaves no trace wherever it was`() {
        var bench = QueueBench.live { $0.window = 1 }
        let (sent, waiting) = (Sample.push(1), Sample.push(2))
        bench.add([sent, waiting])
        _ = bench.asked()
        #expect([waiting, sent, sent].map { bench.withdraw($0) } == [true, true, false])
        #expect(bench.queue.heldCount == 0 && bench.asked() == [])
    }

    @Test func `an acknowledged push cannot be withdrawn`() {
        var bench = QueueBench.live()
        let push = Sample.push(1)
        bench.add(push)
        bench.acknowledge(1)
        #expect(bench.withdraw(push) == false)
    }
}
