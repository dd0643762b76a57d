import Reactor
import Testing

@Suite struct PollerTests {
    @Test func `a wait with nothing ready ends empty`() throws {
        var poller = try Poller()
        #expect(try poller.wait(milliseconds: 1) == 0)
    }

    @Test func `a wait in nanoseconds ends when its time has passed, or with an event`() throws {
        let pair = try Loopback()
        var poller = try Poller()
        let start = Clock.monotonic()
        #expect(try poller.wait(nanoseconds: 2_000_001) == 0)
        #expect(Clock.monotonic() - start >= 2_000_001)
        try poller.add(pair.near.number, token: 1, for: .write)
        #expect(try poller.wait(nanoseconds: 60_000_000_001) == 1)
    }

    @Test func `a poller can watch another`() throws {
        let pair = try Loopback()
        var inner = try Poller()
        var outer = try Poller()
        try inner.add(pair.near.number, token: 1, for: .read)
        try outer.add(inner.number, token: 2, for: .read)
        #expect(try outer.wait(milliseconds: 0) == 0)
        _ = try pair.far.send([1].span)
        #expect(try outer.wait(milliseconds: 5_000) == 1)
        #expect(outer.event(0).token == 2)
        #expect(try inner.wait(milliseconds: 0) == 1)
    }

    @Test func `an event carries its token and says what is ready`() throws {
        let pair = try Loopback()
        var poller = try Poller()
        try poller.add(pair.near.number, token: .max, for: [.read, .write])
        #expect(try poller.wait(milliseconds: 5_000) == 1)
        #expect(poller.event(0).token == .max)
        #expect(poller.event(0).isWritable)
        #expect(!poller.event(0).isReadable)
        #expect(!poller.event(0).isHungUp)
    }

    @Test func `an interest can be changed and taken away`() throws {
        let pair = try Loopback()
        var poller = try Poller()
        try poller.add(pair.near.number, token: 1, for: .write)
        try poller.change(pair.near.number, token: 2, for: .read)
        #expect(try poller.wait(milliseconds: 0) == 0)
        _ = try pair.far.send([1].span)
        #expect(try poller.wait(milliseconds: 5_000) == 1)
        #expect(poller.event(0).token == 2)
        poller.remove(pair.near.number)
        #expect(try poller.wait(milliseconds: 0) == 0)
    }

    @Test func `the peer's end reads as readable, not as hung up`() throws {
        let pair = try Loopback()
        var poller = try Poller()
        try poller.add(pair.near.number, token: 1, for: .read)
        pair.far.endWriting()
        #expect(try poller.wait(milliseconds: 5_000) == 1)
        #expect(poller.event(0).isReadable)
        #expect(!poller.event(0).isHungUp)
    }

    @Test func `a connection closed on both sides is hung up, whatever was asked for`() throws {
        let pair = try Loopback()
        var poller = try Poller()
        try poller.add(pair.near.number, token: 1, for: [])
        pair.far.endWriting()
        pair.near.endWriting()
        #expect(try poller.wait(milliseconds: 5_000) == 1)
        #expect(poller.event(0).isReadable)
        #expect(poller.event(0).isHungUp)
    }

    @Test func `what does not fit one batch comes with the next`() throws {
        let (first, second) = (try Mailbox<Int>(), try Mailbox<Int>())
        var poller = try Poller(batch: 1)
        var messages: [Int] = []
        try poller.add(first.number, token: 1, for: .read)
        try poller.add(second.number, token: 2, for: .read)
        first.post(1)
        second.post(2)
        var seen: Set<UInt64> = []
        for _ in 0..<2 {
            #expect(try poller.wait(milliseconds: 5_000) == 1)
            seen.insert(poller.event(0).token)
            (poller.event(0).token == 1 ? first : second).take(into: &messages)
        }
        #expect(seen == [1, 2])
    }

    @Test func `watching twice and watching nothing are errors`() throws {
        let inbox = try Mailbox<Int>()
        let poller = try Poller()
        try poller.add(inbox.number, token: 1, for: .read)
        #expect(throws: SystemError.self) { try poller.add(inbox.number, token: 1, for: .read) }
        let error = #expect(throws: SystemError.self) { try poller.change(-1, token: 1, for: .read) }
        #expect(error?.description == "epoll_ctl: Bad file descriptor")
    }
}
