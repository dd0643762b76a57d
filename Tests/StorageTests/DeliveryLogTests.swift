import PushCore
import Reactor
import Testing

@testable import Storage

@Suite struct DeliveryLogTests {
    @Test func `a push is found with everything that happened to it`() throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 100)
        log.record(
            Event.received(7, collapseID: "score"),
            Event.of(7, .storedOffline),
            Event.of(7, .deliveredFromStorage)
        )
        let record = try #require(try log.find(DeliveryQuery()).first)
        #expect(record.number == 7 && record.registration == 1 && record.priority == 10 && record.pushType == "alert")
        #expect(record.apnsID == "00000000-0000-0000-0000-000000000007")
        #expect(record.uniqueID == "abababab-abab-abab-0000-000000000007")
        #expect(
            record.device == "fedcba9800000007" && record.topic == "com.example.demo"
                && record.tokenPrefix == "01020304"
        )
        #expect(record.collapseID == "score" && record.size == 21 && record.acceptedAt == Sample.now)
        #expect(record.expiration == (Sample.now + .days(1)).seconds)
        #expect(record.state == .deliveredFromStorage && record.cause == nil)
        #expect(record.changes.map(\.state) == [.received, .storedOffline, .deliveredFromStorage])
        log.stop()
    }

    @Test func `changes are added to what is in the file, also after a restart`() throws {
        let folder = try TemporaryFolder()
        var log = try DeliveryLog(path: folder.database, keep: .days(7), rows: 100)
        log.record(Event.received(7))
        #expect(try log.find(DeliveryQuery()).map(\.state) == [.received])
        log.record(Event.of(7, .storedOffline))
        log.stop()
        log = try DeliveryLog(path: folder.database, keep: .days(7), rows: 100)
        #expect(log.statistics.rows == 1)
        log.record(Event.received(7, state: .discardedExpired, cause: .expired))
        let record = try #require(try log.find(DeliveryQuery()).first)
        #expect(record.changes.map(\.state) == [.received, .storedOffline, .discardedExpired])
        #expect(record.cause == "expired" && log.statistics.rows == 1)
        log.stop()
    }

    @Test func `every state and cause comes back`() throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 100)
        for state in DeliveryState.allCases { log.record(Event.of(1, state)) }
        log.record(Event.received(1))
        for cause in DiscardCause.allCases { log.record(Event.of(1, .discardedUndeliverable, cause: cause)) }
        let changes = try #require(try log.find(DeliveryQuery()).first).changes
        #expect(changes.map(\.state).prefix(12) == DeliveryState.allCases.prefix(12))
        #expect(changes.compactMap(\.cause) == DiscardCause.allCases.map(\.rawValue))
        log.stop()
    }

    @Test(
        arguments: [
            (DeliveryQuery(apnsID: "00000000-0000-0000-0000-000000000003"), [3]),
            (DeliveryQuery(uniqueID: "abababab-abab-abab-0000-000000000004"), [4]),
            (DeliveryQuery(uniqueID: "ABABABABABABABAB0000000000000004"), [4]), (DeliveryQuery(uniqueID: "4"), []),
            (DeliveryQuery(registration: 1), [5, 3, 1]), (DeliveryQuery(state: .delivered), [2]),
            (DeliveryQuery(topic: "com.example.demo"), [5, 4, 3, 2, 1]), (DeliveryQuery(topic: "com.example"), []),
            (DeliveryQuery(registration: 2, state: .received), [4]), (DeliveryQuery(limit: 2), [5, 4]),
            (DeliveryQuery(after: 4, limit: 2), [3, 2]), (DeliveryQuery(after: 1), []), (DeliveryQuery(limit: 0), []),
        ] as [(DeliveryQuery, [UInt64])]
    )
    func `every filter must fit and the newest come first`(_ query: DeliveryQuery, _ numbers: [UInt64]) throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 100)
        for number in UInt64(1)...5 { log.record(Event.received(number, registration: number % 2 == 0 ? 2 : 1)) }
        log.record(Event.of(2, .delivered))
        #expect(try log.find(query).map(\.number) == numbers)
        log.stop()
    }

    @Test func `the newest is the one that came last, whatever its number`() throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 3)
        for number in [900, 5, 901, 6] as [UInt64] { log.record(Event.received(number)) }
        #expect(try log.find(DeliveryQuery()).map(\.number) == [6, 901, 5])
        #expect(try log.find(DeliveryQuery(after: 901)).map(\.number) == [5])
        #expect(try log.find(DeliveryQuery(after: 900)).map(\.number) == [], "forgotten")
        log.stop()
    }

    @Test func `a number that is used again does not mix two pushes`() throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 10)
        log.record(Event.received(1), Event.of(1, .delivered))
        _ = try log.find(DeliveryQuery())
        let push = Sample.push(1, uniqueID: UniqueID(high: 1, low: 1))
        log.record(DeliveryEvent(push: push, number: 1, at: Sample.now, state: .received))
        #expect(try log.find(DeliveryQuery()).map(\.state) == [.received])
        #expect(log.statistics.rows == 1)
        log.stop()
    }

    @Test func `it keeps the newest rows only`() throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 10)
        for number in UInt64(1)...25 { log.record(Event.received(number)) }
        #expect(try log.find(DeliveryQuery()).map(\.number) == (16...25).reversed())
        log.record(Event.received(26), Event.of(3, .delivered))
        #expect(try log.find(DeliveryQuery()).map(\.number) == (17...26).reversed(), "what is forgotten stays so")
        #expect(log.statistics.rows == 10)
        log.stop()
    }

    @Test func `it keeps rows for so long only`() throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 100)
        log.record(Event.received(1))
        #expect(try log.find(DeliveryQuery()).count == 1)
        log.record(Event.received(2, after: .days(8)))
        #expect(try log.find(DeliveryQuery()).map(\.number) == [2])
        #expect(log.statistics.rows == 1)
        log.stop()
    }

    @Test func `a push with endless changes keeps the first and the last`() throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 100)
        log.record(Event.received(1))
        for _ in 0..<40 {
            log.record(Event.of(1, .storedPower), Event.of(1, .storedOffline))
            _ = try log.find(DeliveryQuery())
        }
        log.record(Event.of(1, .delivered))
        let record = try #require(try log.find(DeliveryQuery()).first)
        #expect(record.changes.count == DeliveryCode.changeLimit)
        #expect(record.changes.first?.state == .received && record.state == .delivered)
        #expect(try log.find(DeliveryQuery(state: .delivered)).count == 1)
        log.stop()
    }

    @Test func `who follows gets a record for each change`() throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 100)
        log.record(Event.received(1))
        _ = try log.find(DeliveryQuery())
        let subscription = log.follow()
        log.record(Event.of(1, .delivered), Event.received(2), Event.of(2, .storedOffline))
        let seen = (0..<3).compactMap { _ in subscription.next(milliseconds: 5_000) }
        #expect(seen.map(\.number) == [1, 2, 2])
        #expect(seen.map(\.state) == [.delivered, .received, .storedOffline])
        #expect(seen.map(\.changes.count) == [2, 1, 2])
        #expect(subscription.next(milliseconds: 10) == nil)
        log.stop()
        #expect(subscription.next(milliseconds: 5_000) == nil)
    }

    @Test func `a follower that does not read misses the oldest`() throws {
        let log = try DeliveryLog(path: nil, keep: .days(7), rows: 100_000)
        let subscription = log.follow()
        let count = UInt64(DeliverySubscription.limit) + 10
        var events = (1...count).map { Event.received($0) }
        log.record(&events)
        _ = try log.find(DeliveryQuery(limit: 1))
        #expect(subscription.next(milliseconds: 5_000)?.number == 11)
        #expect(subscription.missed == 10)
        subscription.cancel()
        #expect(subscription.next(milliseconds: 5_000) != nil, "what is there can still be read")
        log.stop()
    }

    @Test func `what waits is written without being asked for`() throws {
        let folder = try TemporaryFolder()
        let log = try DeliveryLog(path: folder.database, keep: .days(7), rows: 100)
        log.record(Event.received(1))
        let patience = Reply<Void>()
        for _ in 0..<50 where log.statistics.rows == 0 { _ = patience.wait(milliseconds: 100) }
        #expect(log.statistics.rows == 1)
        log.stop()
    }

    @Test func `a write that fails is dropped and counted, and the next one works`() throws {
        let folder = try TemporaryFolder()
        let database = try Database(file: folder.database)
        let table = try DeliveryTable(database, keep: .days(7), rowLimit: 10)
        try database.execute("pragma query_only = on")
        #expect(throws: StoreError.self) { try table.write([[Event.received(1)]]) }
        #expect(table.rows == 0)
        try database.execute("pragma query_only = off")
        try table.write([[Event.received(1)], [Event.received(2)]])
        try table.write([[Event.received(1, state: .delivered)]])
        #expect(table.rows == 2)
    }

    @Test func `a log of another kind is put aside, and one that cannot be made is refused`() throws {
        let folder = try TemporaryFolder()
        try SQLiteStore(path: folder.database).close()
        let aside = Locked<[StoreError.Kind: String]>([:])
        let log = try DeliveryLog(path: folder.database, keep: .days(7), rows: 100) { error, place in
            aside.withLock { $0[error.kind] = place }
        }
        #expect(aside.withLock { $0 } == [.foreign: folder.database + ".damaged"])
        log.record(Event.received(7))
        #expect(try log.find(DeliveryQuery()).map(\.number) == [7])
        #expect(log.statistics.putAside == 1)
        log.stop()
        #expect(throws: StoreError.self) { try DeliveryLog(path: "/nowhere/log.db", keep: .days(7), rows: 100) }
    }

    @Test func `changes are whole or refused`() {
        var bytes: [UInt8] = []
        DeliveryCode.append(Event.of(1, .discardedReplaced, cause: .queueFull), to: &bytes)
        let change = DeliveryChange(at: Sample.now, state: .discardedReplaced, cause: "queue_full")
        #expect(DeliveryCode.changes(bytes) == [change])
        for count in 0..<10 { #expect(DeliveryCode.changes(Array(bytes.prefix(count))) == nil) }
        #expect(DeliveryCode.changes(bytes.dropLast() + [99]) == nil)
        #expect(DeliveryCode.changes(Array(bytes.prefix(8)) + [99, 0]) == nil)
    }
}

/// Events with defaults.
private enum Event {
    static func received(
        _ number: UInt64,
        registration: UInt64 = 1,
        collapseID: String = "",
        state: DeliveryState = .received,
        cause: DiscardCause? = nil,
        after: Interval = .zero
    ) -> DeliveryEvent {
        DeliveryEvent(
            push: Sample.push(number, registration: registration, collapseID: collapseID, at: Sample.now + after),
            number: number,
            at: Sample.now + after,
            state: state,
            cause: cause,
            device: Sample.device(number).id,
            topic: "com.example.demo",
            tokenPrefix: "01020304"
        )
    }

    static func of(_ number: UInt64, _ state: DeliveryState, cause: DiscardCause? = nil) -> DeliveryEvent {
        DeliveryEvent(push: nil, number: number, at: Sample.now, state: state, cause: cause)
    }
}

extension DeliveryLog {
    fileprivate func record(_ events: DeliveryEvent...) {
        var events = events
        record(&events)
    }
}
