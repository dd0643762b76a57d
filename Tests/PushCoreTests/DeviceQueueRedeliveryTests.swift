import PushCore
import TestSupport
import Testing

@Suite struct DeviceQueueRedeliveryTests {
    @Test func `an acknowledged push is delivered and gone`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        bench.acknowledge(1)
        #expect(bench.asked() == ["send 1", "delivered 1"])
        #expect(bench.queue.heldCount == 0)
    }

    @Test func `an acknowledgement for nothing in flight is ignored`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        _ = bench.asked()
        bench.acknowledge(1, 1, 2)
        #expect(bench.asked() == ["delivered 1"])
    }

    @Test func `an acknowledgement is found by the low half of the number`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(0xabcd_0000_0007))
        bench.acknowledge(7)
        #expect(bench.queue.heldCount == 0)
    }

    @Test(arguments: [UInt8(1), 3, 255])
    func `a refused push is discarded and not sent again`(_ status: UInt8) {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        bench.acknowledge(1, status: status)
        bench.connect()
        #expect(bench.asked() == ["send 1", "refused 1"])
    }

    @Test func `status 2 refuses the push and ends its registration`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        bench.acknowledge(1, status: 2)
        #expect(bench.asked() == ["send 1", "refused 1", "revoked 1"])
    }

    @Test func `what is not acknowledged is sent again three times, then the session is closed`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        for _ in 0..<3 { bench.pass(.seconds(60)) }
        #expect(bench.asked() == ["send 1", "resend 1", "resend 1", "resend 1"])
        bench.pass(.seconds(60))
        #expect(bench.asked() == ["close", "stored-offline 1"])
        #expect(!bench.queue.hasSession)
    }

    @Test func `a push is not sent again before its time`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        #expect(bench.queue.nextDeadline(after: bench.now) == Sample.now + .seconds(60))
        bench.pass(Interval(nanoseconds: 59_999_999_999))
        #expect(bench.asked() == ["send 1"])
        bench.pass(Interval(nanoseconds: 1))
        #expect(bench.asked() == ["resend 1"])
        #expect(bench.queue.nextDeadline(after: bench.now) == Sample.now + .seconds(120))
    }

    @Test func `a push keeps its storage flag when it is sent again`() {
        var bench = QueueBench()
        bench.add(Sample.push(1))
        bench.connect()
        bench.pass(.seconds(60))
        #expect(bench.sent() == ["send 1 last", "resend 1 last"])
    }

    @Test func `resends used up on three sessions end a push`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        for session in 1...3 {
            for _ in 0..<4 { bench.pass(.seconds(60)) }
            #expect(bench.asked().contains("close"))
            #expect(bench.queue.heldCount == (session < 3 ? 1 : 0))
            bench.connect()
        }
        #expect(bench.asked() == [])
    }

    @Test func `the third session's end tells that the push is undeliverable`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        for _ in 1...3 {
            _ = bench.asked()
            for _ in 0..<4 { bench.pass(.seconds(60)) }
            bench.connect()
        }
        #expect(bench.asked().suffix(2) == ["undeliverable 1 from storage", "close"])
    }

    @Test func `lost connections alone never count`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1, expires: Sample.now + .days(30)))
        for _ in 0..<20 {
            bench.pass(.seconds(180))
            bench.connect()
        }
        #expect(bench.queue.flightCount == 1)
    }

    @Test func `a push that is sent again needs room`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        bench.room = 10
        for _ in 0..<3 { bench.pass(.seconds(60)) }
        #expect(bench.sent() == ["send 1"])
        bench.pass(.seconds(60))
        #expect(bench.asked().first == "close")
    }

    @Test func `a push whose topic was taken away is not sent again but may be acknowledged`() {
        var bench = QueueBench.live()
        bench.add(Sample.push(1))
        bench.filter { _ in .paused }
        for _ in 0..<9 { bench.pass(.seconds(60)) }
        #expect(bench.asked() == ["send 1"])
        bench.acknowledge(1)
        #expect(bench.asked() == ["delivered 1"])
    }

    @Test func `one silent push does not keep the others from being acknowledged`() {
        var bench = QueueBench.live()
        bench.add([Sample.push(1), Sample.push(2)])
        bench.acknowledge(2)
        for _ in 0..<4 { bench.pass(.seconds(60)) }
        bench.connect()
        #expect(bench.sent().suffix(1) == ["send 1 last"])
    }
}
