import PushCore
import TestSupport
import Testing

@Suite struct DeviceQueueSessionTests {
    @Test func `nothing is sent before the first Filter`() {
        var bench = QueueBench()
        bench.add(Sample.push(1))
        bench.open()
        bench.pump()
        #expect(bench.sent() == [])
    }

    @Test func `each Filter replaces the one before`() {
        var bench = QueueBench.live(lanes: 1...2)
        bench.filter { $0 == 1 ? .enabled : .unlisted }
        bench.add([Sample.push(1), Sample.push(2, registration: 2)])
        #expect(bench.asked() == ["send 1", "stored-offline 2"])
    }

    @Test func `a Filter says whether something waits for what it enables`() {
        var bench = QueueBench(lanes: 1...2)
        bench.add(Sample.push(1, registration: 2))
        bench.open()
        #expect(bench.filter { $0 == 1 ? .enabled : .unlisted } == false)
        #expect(bench.filter { $0 == 2 ? .opportunistic : .unlisted } == true)
        #expect(bench.filter { _ in .enabled } == false)
    }

    @Test func `what expired does not count as waiting`() {
        var bench = QueueBench()
        bench.add(Sample.push(1, expires: Sample.now + .seconds(1)))
        bench.pass(.seconds(1))
        bench.open()
        #expect(bench.filter { _ in .enabled } == false)
    }

    @Test func `a paused topic is stored for reasons of power`() {
        var bench = QueueBench()
        bench.connect(mode: .paused)
        bench.add(Sample.push(1))
        #expect(bench.asked() == ["stored-power 1"])
        bench.filter { _ in .enabled }
        #expect(bench.sent() == ["send 1 last"])
    }

    @Test func `a push for an ignored topic is discarded`() {
        var bench = QueueBench()
        bench.connect(mode: .ignored)
        #expect(bench.add(Sample.push(1)) == .discarded)
        #expect(bench.asked() == ["disabled 1"])
    }

    @Test func `what waits for a topic is discarded when it is ignored`() {
        var bench = QueueBench()
        bench.add(Sample.push(1))
        bench.connect(mode: .ignored)
        #expect(bench.asked().last == "disabled 1 from storage")
        #expect(bench.queue.heldCount == 0)
    }

    @Test func `what waits for the window is stored when its topic is taken away`() {
        var bench = QueueBench.live { $0.window = 1 }
        bench.add([Sample.push(1), Sample.push(2)])
        _ = bench.asked()
        bench.filter { _ in .paused }
        #expect(bench.asked() == ["stored-power 2"])
        bench.acknowledge(1)
        bench.filter { _ in .enabled }
        #expect(bench.sent() == ["send 2 last"])
    }

    @Test func `a topic that is added after the Filter can be enabled`() {
        var bench = QueueBench.live()
        bench.queue.addLane(registration: 2, app: 2)
        bench.queue.setMode(.enabled, of: 2)
        bench.add(Sample.push(1, registration: 2))
        #expect(bench.sent() == ["send 1"])
    }

    @Test func `what waited is flagged, the last of it as such, and what comes later is not`() {
        var bench = QueueBench { $0.window = 2 }
        bench.add((1...3).map { Sample.push($0) })
        bench.connect()
        bench.add(Sample.push(4))
        bench.acknowledge(1, 2)
        #expect(bench.sent() == ["send 1 stored", "send 2 stored", "send 3 last", "send 4"])
    }

    @Test func `a later Filter makes a set of its own`() {
        var bench = QueueBench(lanes: 1...2)
        bench.add([Sample.push(1), Sample.push(2, registration: 2)])
        bench.open()
        bench.filter { $0 == 1 ? .enabled : .unlisted }
        bench.filter { _ in .enabled }
        #expect(bench.sent() == ["send 1 last", "send 2 last"])
    }

    @Test func `the last is told although another topic's set was taken away`() {
        var bench = QueueBench(lanes: 1...2) { $0.window = 1 }
        bench.add((1...3).map { Sample.push($0, registration: $0 == 3 ? 2 : 1) })
        bench.connect()
        bench.filter { $0 == 1 ? .enabled : .unlisted }
        bench.acknowledge(1)
        #expect(bench.sent() == ["send 1 stored", "send 2 last"])
    }

    @Test func `a push that waited for a Filter is delivered from storage`() {
        var bench = QueueBench()
        bench.add(Sample.push(1))
        bench.connect()
        bench.acknowledge(1)
        #expect(bench.asked().last == "delivered 1 from storage")
    }

    @Test func `what was in flight waits again in its old place`() {
        var bench = QueueBench.live { $0.window = 2 }
        bench.add((1...3).map { Sample.push($0) })
        _ = bench.asked()
        bench.close()
        #expect(bench.asked() == ["stored-offline 1", "stored-offline 2", "stored-offline 3"])
        bench.connect()
        bench.acknowledge(1, 2)
        #expect(bench.sent() == ["send 1 stored", "send 2 stored", "send 3 last"])
    }

    @Test func `a newer session takes over what the older had in flight`() {
        var bench = QueueBench.live()
        bench.add([Sample.push(1), Sample.push(2)])
        _ = bench.asked()
        bench.connect()
        #expect(bench.sent() == ["send 1 stored", "send 2 last"])
        #expect(bench.queue.flightCount == 2)
    }

    @Test func `without a session nothing is in flight and events of one do nothing`() {
        var bench = QueueBench()
        bench.add(Sample.push(1))
        _ = bench.asked()
        bench.close()
        bench.queue.setMode(.enabled, of: 1)
        #expect(bench.filter { _ in .enabled } == false)
        bench.pass(.seconds(600))
        #expect(bench.asked() == [])
        #expect(bench.queue.nextDeadline(after: bench.now) == nil)
    }

    @Test func `what the store kept waits as before and keeps its order`() {
        var bench = QueueBench(lanes: 1...2)
        bench.restore(Sample.push(7, priority: .powerAware))
        bench.restore(Sample.push(8, registration: 2))
        bench.restore(Sample.push(9, registration: 3))
        #expect(bench.asked() == [] && bench.queue.waitingCount == 2)
        bench.connect()
        #expect(bench.sent() == ["send 8 stored", "send 7 last"])
    }

    @Test func `a revoked registration loses what waits and what is in flight, as from storage`() {
        var bench = QueueBench.live(lanes: 1...2) { $0.window = 1 }
        bench.add([Sample.push(1), Sample.push(2), Sample.push(3, registration: 2)])
        _ = bench.asked()
        bench.revoke(1)
        #expect(bench.asked() == ["unregistered 2 from storage", "unregistered 1 from storage", "send 3"])
        #expect(bench.queue.heldCount == 1)
    }

    @Test func `an acknowledgement for a revoked registration is ignored`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        bench.revoke(1)
        _ = bench.asked()
        bench.acknowledge(1)
        bench.revoke(1)
        #expect(bench.asked() == [])
    }
}
