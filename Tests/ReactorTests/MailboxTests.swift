import Reactor
import Testing

@Suite struct MailboxTests {
    @Test func `messages from several threads all arrive, each thread's in order`() throws {
        let inbox = try Mailbox<(sender: Int, number: Int)>()
        let senders = try (0..<4).map { sender in
            try Worker(name: "sender") {
                for number in 0..<10_000 { inbox.post((sender, number)) }
            }
        }
        var (expected, messages): ([Int], [(sender: Int, number: Int)]) = ([0, 0, 0, 0], [])
        while expected.reduce(0, +) < 40_000 {
            try awaitReadable(inbox.number)
            inbox.take(into: &messages)
            for message in messages {
                #expect(message.number == expected[message.sender])
                expected[message.sender] += 1
            }
        }
        for sender in senders { sender.join() }
    }

    @Test func `a batch arrives whole and leaves the sender's array empty`() throws {
        let inbox = try Mailbox<Int>()
        var batch = Array(0..<1_000)
        let capacity = batch.capacity
        inbox.post(-1)
        inbox.post(contentsOf: &batch)
        #expect(batch.isEmpty)
        #expect(batch.capacity == capacity)

        var messages = [99]
        inbox.take(into: &messages)
        #expect(messages == Array(-1..<1_000))
    }

    @Test func `a taken box is silent until the next message`() throws {
        let inbox = try Mailbox<Int>()
        var messages: [Int] = []
        var poller = try Poller()
        try poller.add(inbox.number, token: 1, for: .read)
        #expect(try poller.wait(milliseconds: 0) == 0)
        inbox.post(1)
        #expect(try poller.wait(milliseconds: 0) == 1)
        inbox.take(into: &messages)
        #expect(try poller.wait(milliseconds: 0) == 0)
        inbox.take(into: &messages)
        #expect(messages.isEmpty)
        inbox.post(2)
        #expect(try poller.wait(milliseconds: 0) == 1)
    }

    @Test func `posting an empty batch rings no bell`() throws {
        let inbox = try Mailbox<Int>()
        var nothing: [Int] = []
        var poller = try Poller()
        try poller.add(inbox.number, token: 1, for: .read)
        inbox.post(contentsOf: &nothing)
        #expect(try poller.wait(milliseconds: 0) == 0)
    }

    @Test func `two loops answer each other through their boxes`() throws {
        let (there, back) = (try Mailbox<Int>(), try Mailbox<Int>())
        let rounds = 2_000
        let echo = try Worker(name: "echo") {
            var (messages, count): ([Int], Int) = ([], 0)
            while count < rounds {
                guard (try? awaitReadable(there.number)) != nil else { return }  // The other side then waits in vain.
                there.take(into: &messages)
                count += messages.count
                back.post(contentsOf: &messages)
            }
        }
        var messages: [Int] = []
        for round in 0..<rounds {
            there.post(round)
            try awaitReadable(back.number)
            back.take(into: &messages)
            #expect(messages == [round])
        }
        echo.join()
    }
}
