import PushCore
import TestSupport
import Testing

@Suite struct DeviceQueueLimitTests {
    @Test func `past the limit the oldest goes, whatever its priority`() {
        var bench = QueueBench { $0.limit = 2 }
        bench.add(Sample.push(1))
        bench.add(Sample.push(2, priority: .powerFirst))
        bench.add(Sample.push(3, priority: .powerAware))
        #expect(bench.asked().last == "queue_full 1 from storage")
        #expect(bench.queue.held(for: 1).map(\.number) == [3, 2])
    }

    @Test func `the limit is each registration's own`() {
        var bench = QueueBench(lanes: 1...2) { $0.limit = 1 }
        bench.add([Sample.push(1), Sample.push(2, registration: 2)])
        #expect(bench.queue.waitingCount == 2)
    }

    @Test func `what expired makes room before anything good goes`() {
        var bench = QueueBench { $0.limit = 2 }
        bench.add([Sample.push(1), Sample.push(2, expires: Sample.now + .seconds(1))])
        bench.pass(.seconds(1))
        bench.add(Sample.push(3, at: bench.now))
        #expect(bench.queue.held(for: 1).map(\.number) == [1, 3])
    }

    @Test(arguments: [TopicMode.unlisted, .paused])
    func `a session that does not enable the topic does not lift the limit`(_ mode: TopicMode) {
        var bench = QueueBench { $0.limit = 1 }
        bench.connect(mode: mode)
        bench.add([Sample.push(1), Sample.push(2)])
        #expect(bench.queue.held(for: 1).map(\.number) == [2])
    }

    @Test func `a limit of zero keeps nothing`() {
        var bench = QueueBench { $0.limit = 0 }
        #expect(bench.add(Sample.push(1)) == .accepted)
        #expect(bench.asked() == ["stored-offline 1", "queue_full 1 from storage"])
    }

    @Test func `for a device that is present nothing is dropped and too much is refused`() {
        var bench = QueueBench.live { ($0.window, $0.backlog, $0.limit) = (1, 2, 1) }
        bench.add((1...3).map { Sample.push($0) })
        #expect(bench.add(Sample.push(4)) == .tooMany)
        #expect(bench.asked() == ["send 1"])
        #expect(bench.queue.held(for: 1).map(\.number) == [1, 2, 3])
    }

    @Test func `the backlog is each registration's own`() {
        var bench = QueueBench.live(lanes: 1...2) { ($0.window, $0.backlog) = (1, 1) }
        bench.add([Sample.push(1), Sample.push(2)])
        #expect(bench.add(Sample.push(3, registration: 2)) == .accepted)
    }

    @Test func `what expired does not count for the backlog`() {
        var bench = QueueBench.live { ($0.window, $0.backlog) = (1, 1) }
        bench.add([Sample.push(1), Sample.push(2, expires: Sample.now + .seconds(1))])
        bench.pass(.seconds(1))
        #expect(bench.add(Sample.push(3, at: bench.now)) == .accepted)
        #expect(bench.asked() == ["send 1", "expired 2"])
    }

    @Test func `an acknowledgement makes room in the backlog`() {
        var bench = QueueBench.live { ($0.window, $0.backlog) = (1, 1) }
        bench.add([Sample.push(1), Sample.push(2)])
        bench.acknowledge(1)
        #expect(bench.add(Sample.push(3)) == .accepted)
    }

    @Test func `what waited when the session ended is kept until a new push comes`() {
        var bench = QueueBench.live { ($0.window, $0.limit) = (1, 2) }
        bench.add((1...4).map { Sample.push($0) })
        bench.close()
        #expect(bench.queue.waitingCount == 4)
        bench.add(Sample.push(5))
        #expect(bench.queue.held(for: 1).map(\.number) == [4, 5])
    }

    @Test func `in apple mode the newest is kept, whatever its priority`() {
        var bench = QueueBench { $0.mode = .apple }
        bench.add([Sample.push(1), Sample.push(2, priority: .powerFirst)])
        #expect(bench.asked().last == "queue_full 1 from storage")
        bench.connect()
        #expect(bench.sent() == ["send 2 last"])
    }

    @Test func `in apple mode an app's topics share one place and another app has its own`() {
        var bench = QueueBench(lanes: 1...1) { $0.mode = .apple }
        bench.queue.addLane(registration: 2, app: 1)
        bench.queue.addLane(registration: 3, app: 3)
        for number in 1...3 { bench.add(Sample.push(UInt64(number), registration: UInt64(number))) }
        bench.connect()
        #expect(bench.sent() == ["send 2 stored", "send 3 last"])
    }

    @Test func `in apple mode a sleeping device has one place too`() {
        var bench = QueueBench.live(awake: false) { $0.mode = .apple }
        bench.add([Sample.push(1, priority: .powerAware), Sample.push(2, priority: .powerAware)])
        bench.wake()
        #expect(bench.sent() == ["send 2"])
    }

    @Test func `in apple mode what waits for the window is not what is stored`() {
        var bench = QueueBench.live { ($0.mode, $0.window) = (.apple, 1) }
        bench.queue.addLane(registration: 2, app: 1)
        bench.add([Sample.push(1), Sample.push(2), Sample.push(3)])
        bench.add(Sample.push(4, registration: 2))
        #expect(bench.queue.waitingCount == 3)
    }
}
