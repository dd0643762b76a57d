import PushCore
import Reactor
import Storage
import Testing

@Suite struct StoreThreadTests {
    /// Answers of `done`, in order.
    final class Answers: Sendable {
        private let list = Locked<[StoreError?]>([])
        func add(_ error: StoreError?) { list.withLock { $0.append(error) } }
        var errors: [StoreError?] { list.withLock { $0 } }
    }

    /// A store that is shared with the test, which looks at it when the thread has ended or is idle.
    final class Shared: MessageStore, Sendable {
        private let store = Locked(MemoryStore())
        private let transactions = Locked<[[StoreChange]]>([])

        func load(at now: Moment) throws(StoreError) -> StoreSnapshot {
            try store.withLock { store in Result { () throws(StoreError) in try store.load(at: now) } }.get()
        }
        func payloads(_ numbers: [UInt64]) throws(StoreError) -> [[UInt8]?] {
            try store.withLock { store in Result { () throws(StoreError) in try store.payloads(numbers) } }.get()
        }
        func commit(_ changes: [StoreChange]) throws(StoreError) {
            transactions.withLock { $0.append(changes) }
            try store.withLock { store in Result { () throws(StoreError) in try store.commit(changes) } }.get()
        }
        func maintain(at now: Moment) -> Bool { false }
        func close() {}
        var sizes: [Int] { transactions.withLock { $0.map(\.count) } }
        func numbers() throws -> [UInt64] { try load(at: Sample.now).numbers }
    }

    @Test func `what is submitted is stored when the answer comes`() throws {
        let shared = Shared()
        let thread = try StoreThread(store: shared)
        let reply = Reply<[UInt64]>()
        thread.submit([.append(Sample.push(1)), .save(Sample.registration(1))]) { error in
            guard error == nil, let numbers = try? shared.numbers() else { return }
            reply.set(numbers)
        }
        #expect(reply.wait(milliseconds: 5_000) == [1])
        thread.stop()
        #expect(thread.statistics.commits == 1 && thread.statistics.queueDepth == 0)
    }

    /// A store that somebody deletes and puts back.
    final class Vanishing: MessageStore, Sendable {
        let isGone = Locked(false)

        func check() throws(StoreError) {
            guard isGone.withLock({ $0 }) else { return }
            throw StoreError(.gone, "it is not there any more", file: "nowhere")
        }
        func load(at now: Moment) -> StoreSnapshot { StoreSnapshot() }
        func payloads(_ numbers: [UInt64]) -> [[UInt8]?] { numbers.map { _ in nil } }
        func commit(_ changes: [StoreChange]) throws(StoreError) { try check() }
        func maintain(at now: Moment) -> Bool { false }
        func close() {}
    }

    @Test func `a store that is gone is noticed without a commit, and so is its return`() throws {
        let (failed, recovered) = (Reply<StoreError>(), Reply<Bool>())
        let store = Vanishing()
        let hooks = StoreHooks(failed: { failed.set($0) }, recovered: { recovered.set(true) })
        let thread = try StoreThread(store: store, hooks: hooks)
        store.isGone.withLock { $0 = true }
        #expect(failed.wait(milliseconds: 20_000)?.kind == .gone)
        #expect(thread.statistics.isFailing)
        store.isGone.withLock { $0 = false }
        #expect(recovered.wait(milliseconds: 20_000) == true)
        #expect(!thread.statistics.isFailing)
        thread.stop()
    }

    @Test func `payloads are read while nothing can be committed`() throws {
        let shared = Shared()
        try shared.commit([.append(Sample.push(1, payload: [7]))])
        let thread = try StoreThread(store: shared)
        thread.hold(true)
        thread.submit([.append(Sample.push(2))])
        let reply = Reply<[[UInt8]?]>()
        thread.read([1, 2]) { payloads in (try? payloads.get()).map { reply.set($0) } }
        #expect(reply.wait(milliseconds: 5_000) == [[7], nil])
        thread.stop()
    }

    @Test func `a payload that cannot be read says why`() throws {
        let thread = try StoreThread(store: FaultyStore(MemoryStore(), failingCall: 1))
        let reply = Reply<StoreError?>()
        thread.read([1]) { payloads in
            if case .failure(let error) = payloads { reply.set(error) } else { reply.set(nil) }
        }
        #expect(reply.wait(milliseconds: 5_000)?.flatMap(\.self) == FaultyStore.error)
        thread.stop()
    }

    @Test func `what waits becomes one transaction, answered in order`() throws {
        let shared = Shared()
        let thread = try StoreThread(store: shared)
        let order = Locked<[Int]>([])
        thread.hold(true)
        for number in 1...5 {
            thread.submit([.append(Sample.push(UInt64(number)))]) { _ in order.withLock { $0.append(number) } }
        }
        thread.hold(false)
        #expect(thread.flush(milliseconds: 5_000))
        #expect(shared.sizes == [5])
        #expect(order.withLock { $0 } == [1, 2, 3, 4, 5])
        thread.stop()
    }

    @Test func `a push that is over before it is written is never written`() throws {
        let shared = Shared()
        let thread = try StoreThread(store: shared)
        let answers = Answers()
        thread.hold(true)
        thread.submit([.append(Sample.push(1)), .append(Sample.push(2))], done: answers.add)
        thread.submit([.discard(1)], done: answers.add)
        thread.submit([.discard(2)], done: answers.add)
        thread.hold(false)
        #expect(thread.flush(milliseconds: 5_000))
        #expect(shared.sizes == [])
        #expect(answers.errors == [nil, nil, nil])
        #expect(thread.statistics.cancelled == 2)
        thread.stop()
    }

    @Test func `an acknowledgement alone is recorded though nothing else comes`() throws {
        let thread = try StoreThread(store: Shared())
        thread.submit([.append(Sample.push(1))])
        #expect(thread.flush(milliseconds: 5_000))
        let reply = Reply<StoreError?>()
        thread.submit([.discard(1)]) { reply.set($0) }
        #expect(reply.wait(milliseconds: 5_000) == .some(nil))
        thread.stop()
    }

    @Test func `a transaction that fails is answered with the reason and leaves nothing`() throws {
        let shared = Shared()
        let thread = try StoreThread(store: shared)
        let answers = Answers()
        let failed = Reply<Bool>()
        thread.fail(next: 1)
        thread.submit([.append(Sample.push(1))]) { error in
            answers.add(error)
            // Seen from the store's own thread: a second later it has tried again by itself.
            failed.set(thread.statistics.isFailing)
        }
        #expect(failed.wait(milliseconds: 5_000) == true)
        thread.submit([.append(Sample.push(2))], done: answers.add)
        #expect(thread.flush(milliseconds: 5_000))
        #expect(!thread.statistics.isFailing)
        #expect(answers.errors.map { $0?.kind } == [.test, nil])
        #expect(try shared.numbers() == [2])
        thread.stop()
    }

    @Test func `a failing store is probed without new work`() throws {
        let recovered = Reply<Bool>()
        let hooks = StoreHooks(recovered: { recovered.set(true) })
        let thread = try StoreThread(store: Shared(), hooks: hooks)
        thread.fail(next: 2)
        thread.submit([.append(Sample.push(1))])
        #expect(recovered.wait(milliseconds: 5_000) == true)
        #expect(!thread.statistics.isFailing && thread.statistics.failures == 2)
        thread.stop()
    }

    @Test func `acknowledgements that could not be recorded are recorded later`() throws {
        let shared = Shared()
        let thread = try StoreThread(store: shared)
        let answers = Answers()
        thread.submit([.append(Sample.push(1))])
        #expect(thread.flush(milliseconds: 5_000))
        // Each attempt fails, however many there have been when the flush comes.
        thread.fail(next: .max)
        thread.submit([.discard(1)], done: answers.add)
        #expect(thread.flush(milliseconds: 5_000) == false)
        #expect(try shared.numbers() == [1])
        thread.fail(next: 0)
        #expect(thread.flush(milliseconds: 5_000))
        #expect(try shared.numbers() == [])
        #expect(answers.errors.map { $0?.kind } == [.test], "answered once")
        thread.stop()
    }

    @Test func `while it is held it stores nothing, and stopping stores everything`() throws {
        let shared = Shared()
        let thread = try StoreThread(store: shared)
        let answers = Answers()
        thread.hold(true)
        thread.submit([.append(Sample.push(1))], done: answers.add)
        #expect(thread.flush(milliseconds: 50) == false)
        #expect(answers.errors.isEmpty)
        #expect(thread.statistics.queueDepth == 1 && thread.statistics.lagSeconds >= 0.04)
        thread.stop()
        #expect(answers.errors == [nil])
        #expect(try shared.numbers() == [1])
    }

    @Test func `everyone is answered by a store that fails to the end`() throws {
        let thread = try StoreThread(store: Shared())
        let answers = Answers()
        thread.hold(true)
        thread.fail(next: .max)
        for number in UInt64(1)...3 {
            let pushes = (0..<2_000).map { StoreChange.append(Sample.push(number * 10_000 + $0)) }
            thread.submit(pushes + [.discard(number)], done: answers.add)
            thread.submit([.discard(number + 100)], done: answers.add)
        }
        thread.stop()
        #expect(answers.errors.count == 6 && answers.errors.allSatisfy { $0?.kind == .test })
        #expect(thread.statistics.queueDepth == 0)
    }

    @Test(arguments: 1...6)
    func `whichever call fails, what was answered with success is there`(_ n: Int) throws {
        let shared = Shared()
        let thread = try StoreThread(store: FaultyStore(shared, failingCall: n))
        let stored = Locked<[UInt64]>([])
        for number in UInt64(1)...5 {
            thread.submit([.append(Sample.push(number))]) { error in
                if error == nil { stored.withLock { $0.append(number) } }
            }
            _ = thread.flush(milliseconds: 5_000)
        }
        thread.stop()
        #expect(try shared.numbers() == stored.withLock { $0 })
        #expect(stored.withLock { $0.count } == (n <= 5 ? 4 : 5))
    }
}
