import PushCore
import TestSupport
import Testing

@Suite struct DeviceQueueCollapseTests {
    @Test func `a waiting push gives way to a newer one with its collapse id`() {
        var bench = QueueBench()
        bench.add(Sample.push(1, collapseID: "score"))
        bench.add(Sample.push(2))
        bench.add(Sample.push(3, collapseID: "score"))
        #expect(bench.asked().contains("collapsed 1 from storage"))
        bench.connect()
        #expect(bench.sent() == ["send 2 stored", "send 3 last"])
    }

    @Test func `the newer one stands where its own priority puts it`() {
        var bench = QueueBench()
        bench.add(Sample.push(1, collapseID: "score"))
        bench.add(Sample.push(2, priority: .powerAware))
        bench.add(Sample.push(3, priority: .powerFirst, collapseID: "score"))
        bench.connect()
        #expect(bench.sent() == ["send 2 stored", "send 3 last"])
    }

    @Test func `an empty collapse id is none`() {
        var bench = QueueBench()
        bench.add([Sample.push(1), Sample.push(2)])
        #expect(bench.queue.waitingCount == 2)
    }

    @Test func `collapse ids are compared by bytes`() {
        var bench = QueueBench()
        bench.add([Sample.push(1, collapseID: "e\u{301}"), Sample.push(2, collapseID: "\u{e9}")])
        #expect(bench.queue.waitingCount == 2)
    }

    @Test func `another registration's collapse id is another one`() {
        var bench = QueueBench(lanes: 1...2)
        bench.add(Sample.push(1, collapseID: "score"))
        bench.add(Sample.push(2, registration: 2, collapseID: "score"))
        #expect(bench.queue.waitingCount == 2)
    }

    @Test func `one in flight is not recalled but never sent again`() {
        var bench = QueueBench.live()
        bench.add([Sample.push(1, collapseID: "score"), Sample.push(2, collapseID: "score")])
        #expect(bench.asked() == ["send 1", "send 2"])
        bench.pass(.seconds(60))
        #expect(bench.asked() == ["collapsed 1", "resend 2"])
    }

    @Test func `one in flight is not sent on the next session once a newer one waits`() {
        var bench = QueueBench.live { $0.window = 1 }
        bench.add([Sample.push(1, collapseID: "score"), Sample.push(2, collapseID: "score")])
        bench.close()
        bench.connect()
        #expect(bench.sent() == ["send 1", "send 2 last"])
    }

    @Test func `one in flight stays superseded after the newer one was acknowledged`() {
        var bench = QueueBench.live()
        bench.add([Sample.push(1, collapseID: "score"), Sample.push(2, collapseID: "score")])
        bench.acknowledge(2)
        bench.close()
        #expect(bench.asked().contains("collapsed 1"))
        #expect(bench.queue.heldCount == 0)
    }

    @Test func `one in flight that is superseded can still be acknowledged`() {
        var bench = QueueBench.live()
        bench.add([Sample.push(1, collapseID: "score"), Sample.push(2, collapseID: "score")])
        bench.acknowledge(1)
        #expect(bench.asked().contains("delivered 1"))
    }

    @Test func `a refused push supersedes nothing`() {
        var bench = QueueBench.live { ($0.window, $0.backlog) = (1, 1) }
        bench.add([Sample.push(1, collapseID: "score"), Sample.push(2)])
        #expect(bench.add(Sample.push(3, collapseID: "score")) == .tooMany)
        bench.close()
        bench.connect()
        #expect(bench.sent() == ["send 1", "send 1 stored"])
    }

    @Test func `a push that replaces one is taken although too much waits`() {
        var bench = QueueBench.live { ($0.window, $0.backlog) = (1, 1) }
        bench.add([Sample.push(1), Sample.push(2, collapseID: "score")])
        #expect(bench.add(Sample.push(3, collapseID: "score")) == .accepted)
        #expect(bench.asked() == ["send 1", "collapsed 2"])
        #expect(bench.queue.waitingCount == 1)
    }

    @Test func `what a withdrawn push superseded may be sent again`() {
        var bench = QueueBench.live { $0.window = 1 }
        let newer = Sample.push(2, collapseID: "score")
        bench.add([Sample.push(1, collapseID: "score"), newer])
        #expect(bench.withdraw(newer) == true)
        bench.close()
        bench.connect()
        #expect(bench.sent() == ["send 1", "send 1 last"])
    }

    @Test func `what a withdrawn push superseded stays so if yet another one came`() {
        var bench = QueueBench.live()
        let middle = Sample.push(2, collapseID: "score")
        bench.add([Sample.push(1, collapseID: "score"), middle, Sample.push(3, collapseID: "score")])
        #expect(bench.withdraw(middle) == true)
        bench.close()
        bench.connect()
        #expect(bench.sent() == ["send 1", "send 2", "send 3", "send 3 last"])
    }

    @Test func `what a withdrawn push superseded may be sent again though another one did so before`() {
        var bench = QueueBench.live { $0.window = 1 }
        let last = Sample.push(3, collapseID: "score")
        bench.add([Sample.push(1, collapseID: "score"), Sample.push(2, collapseID: "score"), last])
        bench.queue.pass(2, to: 3)
        #expect(bench.withdraw(last) == true)
        bench.close()
        #expect(bench.queue.held(for: 1).map(\.number) == [1])
    }

    @Test func `what a safe push superseded stays so though another one did so too and is withdrawn`() {
        var bench = QueueBench.live { $0.window = 1 }
        let last = Sample.push(3, collapseID: "score")
        bench.add([Sample.push(1, collapseID: "score"), Sample.push(2, collapseID: "score"), last])
        #expect(bench.queue.settle(2) == [1])
        #expect(bench.withdraw(last) == true)
        bench.close()
        #expect(bench.queue.held(for: 1).isEmpty)
    }

    @Test func `a push that goes once takes the place of the waiting one`() {
        var bench = QueueBench.live { $0.window = 1 }
        bench.add([Sample.push(1), Sample.push(2, collapseID: "score")])
        bench.add(Sample.once(3, collapseID: "score"))
        #expect(bench.asked() == ["send 1", "collapsed 2", "expired 3"])
    }

    @Test func `a push that was to go once and did not supersedes nothing`() {
        var bench = QueueBench.live { $0.window = 1 }
        bench.add([Sample.push(1, collapseID: "score"), Sample.once(2, collapseID: "score")])
        bench.close()
        #expect(bench.queue.held(for: 1).map(\.number) == [1])
    }

    @Test func `a push that went once supersedes the one in flight`() {
        var bench = QueueBench.live()
        bench.add([Sample.push(1, collapseID: "score"), Sample.once(2, collapseID: "score")])
        bench.close()
        #expect(bench.queue.heldCount == 0)
    }

    @Test func `after a restart the newest of a collapse id is left`() {
        var bench = QueueBench()
        for number in 1...3 { bench.restore(Sample.push(UInt64(number), collapseID: number == 2 ? "" : "score")) }
        #expect(bench.asked() == ["collapsed 1 from storage"])
        bench.connect()
        #expect(bench.sent() == ["send 2 stored", "send 3 last"])
    }
}
