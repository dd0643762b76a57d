import PushCore
import TestSupport
import Testing

/// Payloads that are in the store alone.
@Suite struct DeviceQueuePayloadTests {
    private let later = Sample.now + .seconds(1)

    /// One without a session that has left the payloads of what waits to the store.
    private func away(_ pushes: [Push], change: (inout QueuePolicy) -> Void = { _ in }) -> QueueBench {
        var bench = QueueBench(change: change)
        bench.add(pushes)
        // What was asked for holds the pushes, and what is held keeps its payload.
        _ = bench.takeEffects()
        bench.queue.unloadPayloads(acceptedBefore: later) { _ in true }
        return bench
    }

    /// The same, after it has met a session.
    private func unloaded(_ pushes: [Push], change: (inout QueuePolicy) -> Void = { _ in }) -> QueueBench {
        var bench = away(pushes, change: change)
        var unheard: [QueueEffect] = []
        bench.queue.openSession(isAwake: true, into: &unheard)
        _ = bench.queue.filter(at: bench.now, into: &unheard) { _ in .enabled }
        return bench
    }

    @Test func `what waits gives up its payload and keeps its size and collapse id`() throws {
        let bench = away([Sample.push(1, collapseID: "score")])
        let content = try #require(bench.queue.push(numbered: 1)).content
        #expect(!content.hasPayload && content.payload.isEmpty)
        #expect(content.payloadCount == Sample.payload.count && content.collapseID.elementsEqual("score".utf8))
    }

    @Test func `a payload comes back as it was`() throws {
        var bench = away([Sample.push(1, collapseID: "score")])
        bench.queue.load([1, 2, 3], of: 1)
        let content = try #require(bench.queue.push(numbered: 1)).content
        #expect(content.hasPayload && content.payload == [1, 2, 3] && content.collapseID.elementsEqual("score".utf8))
    }

    @Test func `the young and the unwritten keep theirs`() {
        var bench = QueueBench()
        bench.add([Sample.push(1), Sample.push(2, at: later), Sample.push(3)])
        _ = bench.takeEffects()
        bench.queue.unloadPayloads(acceptedBefore: later) { $0 != 3 }
        #expect(bench.queue.held(for: 1).map(\.content.hasPayload) == [false, true, true])
    }

    @Test func `what a session takes keeps its payload, in flight or waiting for the window`() {
        var bench = QueueBench.live { $0.window = 1 }
        bench.add([Sample.push(1), Sample.push(2)])
        _ = bench.takeEffects()
        bench.queue.unloadPayloads(acceptedBefore: later) { _ in true }
        #expect(bench.queue.held(for: 1).map(\.content.hasPayload) == [true, true])
    }

    @Test func `a push that somebody still holds keeps its payload`() {
        var bench = QueueBench()
        let queued = QueuedPush(Sample.push(1))
        var effects: [QueueEffect] = []
        _ = bench.queue.add(queued, at: bench.now, into: &effects)
        effects = []
        bench.queue.unloadPayloads(acceptedBefore: later) { _ in true }
        #expect(queued.push.content.hasPayload)
    }

    @Test func `nothing is sent past a push whose payload is missing`() {
        var bench = unloaded([Sample.push(1), Sample.push(2)])
        var effects: [QueueEffect] = []
        _ = bench.queue.add(QueuedPush(Sample.push(3)), at: bench.now, into: &effects)
        bench.queue.pump(at: bench.now, room: &bench.room, into: &effects)
        #expect(effects.map(\.words) == [] && bench.queue.lacksPayload)
        bench.queue.load([1], of: 1)
        bench.queue.pump(at: bench.now, room: &bench.room, into: &effects)
        #expect(effects.map(\.words) == ["send 1 stored"] && bench.queue.lacksPayload)
        bench.pump()
        #expect(bench.sent() == ["send 2 last", "send 3"] && !bench.queue.lacksPayload)
    }

    @Test func `what is for once does not wait for the payload before it`() {
        var bench = unloaded([Sample.push(1)])
        var effects: [QueueEffect] = []
        let verdict = bench.queue.add(QueuedPush(Sample.once(2)), at: bench.now, into: &effects)
        bench.queue.pump(at: bench.now, room: &bench.room, into: &effects)
        #expect(verdict == .once && effects.map(\.words) == ["expired 2"])
        bench.pump()
        #expect(bench.sent() == ["send 1 last"])
    }

    @Test func `as many are missing as the window takes, in the order of sending`() {
        let pushes = [Sample.push(1, priority: .powerAware)] + (2...4).map { Sample.push($0) }
        let narrow = unloaded(pushes) { $0.window = 2 }
        #expect(narrow.queue.missingPayloads(at: narrow.now) == [2, 3])
        let wide = unloaded(pushes)
        #expect(wide.queue.missingPayloads(at: wide.now) == [2, 3, 4, 1])
    }

    @Test func `a push whose payload is lost ends with a cause`() {
        var bench = unloaded([Sample.push(1), Sample.push(2)])
        var effects: [QueueEffect] = []
        #expect(bench.queue.discardLost(1, into: &effects) && !bench.queue.discardLost(1, into: &effects))
        #expect(effects.map(\.words) == ["undeliverable 1 from storage"])
        bench.pump()
        #expect(bench.sent() == ["send 2 last"])
    }
}
