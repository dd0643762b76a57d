import PushCore
import Storage
import Testing

/// What every store does. Each test runs with each engine.
@Suite struct MessageStoreTests {
    @Test(arguments: Engine.allCases)
    func `a new store is empty and says so`(_ engine: Engine) throws {
        try engine.withStore { held in
            let snapshot = try held.store.load(at: Sample.now)
            #expect(snapshot.isNew)
            #expect(snapshot.numbers.isEmpty && snapshot.registrations.isEmpty && snapshot.apps.isEmpty)
            #expect(snapshot.lastPushNumber == 0 && snapshot.lastRegistrationNumber == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push comes back with everything it had`(_ engine: Engine) throws {
        try engine.withStore { held in
            _ = try held.store.load(at: Sample.now)
            let push = Sample.push(7, registration: 3, collapseID: "score")
            try held.store.commit([.append(push)])
            let back = try #require(try held.reloaded().pushes.first)
            #expect(back.number == 7 && back.registration == 3)
            #expect(back.apnsID == push.apnsID && back.uniqueID == push.uniqueID)
            #expect(back.priority == push.priority && back.type == push.type)
            #expect(back.expires == push.expires && back.acceptedAt == push.acceptedAt)
            #expect(back.content.collapseID == push.content.collapseID)
            #expect(back.content.payloadCount == push.content.payloadCount)
            #expect(try held.store.payloads([7]) == [Array(push.content.payload)])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push without type and payload comes back the same`(_ engine: Engine) throws {
        try engine.withStore { held in
            let push = Push(
                number: 1,
                registration: 1,
                apnsID: Sample.push(1).apnsID,
                uniqueID: Sample.push(1).uniqueID,
                priority: .powerFirst,
                type: nil,
                expires: .distantFuture,
                acceptedAt: Sample.now,
                content: PushContent(payload: [])
            )
            try held.store.commit([.append(push)])
            let back = try #require(try held.reloaded().pushes.first)
            #expect(back.type == nil && back.content.bytes.isEmpty && back.content.payloadCount == 0)
            #expect(try held.store.payloads([1]) == [[]])
            #expect(back.expires == .distantFuture && back.priority == .powerFirst)
        }
    }

    @Test(arguments: Engine.allCases)
    func `payloads are read in the order of the asking, and the lost are named`(_ engine: Engine) throws {
        try engine.withStore { held in
            try held.store.commit([1, 2, 3].map { .append(Sample.push($0, payload: [UInt8($0)])) })
            try held.store.commit([.discard(2)])
            #expect(try held.store.payloads([3, 2, 1, 9]) == [[3], nil, [1], nil])
        }
    }

    @Test(arguments: Engine.allCases)
    func `pushes come back by number and without the discarded`(_ engine: Engine) throws {
        try engine.withStore { held in
            try held.store.commit([.append(Sample.push(5)), .append(Sample.push(2)), .append(Sample.push(9))])
            try held.store.commit([.discard(5), .discard(77)])
            #expect(try held.reloaded().numbers == [2, 9])
        }
    }

    @Test(arguments: Engine.allCases)
    func `what expired meanwhile does not come back`(_ engine: Engine) throws {
        try engine.withStore { held in
            let soon = Sample.now + .seconds(5)
            try held.store.commit([.append(Sample.push(1, expires: soon)), .append(Sample.push(2))])
            #expect(try held.reloaded(at: soon).numbers == [2])
            #expect(try held.reloaded().numbers == [2], "it is gone for good")
        }
    }

    @Test(arguments: Engine.allCases)
    func `only the newest of a registration and collapse id comes back`(_ engine: Engine) throws {
        try engine.withStore { held in
            try held.store.commit([
                .append(Sample.push(1, registration: 1, collapseID: "a")),
                .append(Sample.push(2, registration: 2, collapseID: "a")),
                .append(Sample.push(3, registration: 1, collapseID: "b")),
                .append(Sample.push(4, registration: 1, collapseID: "a")),
                .append(Sample.push(5, registration: 1)), .append(Sample.push(6, registration: 1)),
            ])
            #expect(try held.reloaded().numbers == [2, 3, 4, 5, 6])
            try held.store.commit([.discard(4)])
            #expect(try held.reloaded().numbers == [2, 3, 5, 6], "the replaced one does not come back")
        }
    }

    @Test(arguments: Engine.allCases)
    func `one that expired still replaces what was before it`(_ engine: Engine) throws {
        try engine.withStore { held in
            let soon = Sample.now + .seconds(5)
            try held.store.commit([
                .append(Sample.push(1, collapseID: "a")), .append(Sample.push(2, collapseID: "a", expires: soon)),
            ])
            #expect(try held.reloaded(at: soon).numbers.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `numbers are never used again`(_ engine: Engine) throws {
        try engine.withStore { held in
            _ = try held.store.load(at: Sample.now)
            try held.store.commit([.append(Sample.push(40)), .save(Sample.registration(6))])
            try held.store.commit([.discard(40), .forget(registration: 6)])
            let snapshot = try held.reloaded()
            #expect(snapshot.lastPushNumber >= 40 && snapshot.lastRegistrationNumber == 6)
            #expect(!snapshot.isNew)
        }
    }

    @Test(arguments: Engine.allCases)
    func `registrations are saved, changed and forgotten`(_ engine: Engine) throws {
        try engine.withStore { held in
            var revoked = Sample.registration(1)
            revoked.state = .unregistered
            revoked.revokedAt = Sample.now
            let long = Registration(
                number: 3,
                token: try #require(DeviceToken(Array(repeating: 9, count: 100))),
                device: nil,
                topic: "com.example.demo.voip",
                createdAt: Sample.now,
                state: .expired,
                revokedAt: nil
            )
            try held.store.commit([.save(Sample.registration(1)), .save(Sample.registration(2)), .save(long)])
            try held.store.commit([.save(revoked), .forget(registration: 2)])
            #expect(try held.reloaded().registrations == [revoked, long])
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices, apps and keys come back`(_ engine: Engine) throws {
        try engine.withStore { held in
            var removed = Sample.device(1)
            removed.removedAt = Sample.now
            let app = App(bundle: "com.example.demo", team: "DEMOTEAM01", broadcast: true)
            var key = Sample.key("ABC123DEFG", topics: ["com.example.demo", "com.example.demo.voip"])
            try held.store.commit([
                .saveDevice(Sample.device(1)), .saveDevice(Sample.device(2, name: "Zoë’s")), .saveApp(app),
                .saveApp(App(bundle: "com.example.gone", team: "T", broadcast: false)), .saveKey(key),
            ])
            key.revokedAt = Sample.now
            try held.store.commit([.saveDevice(removed), .removeApp(bundle: "com.example.gone"), .saveKey(key)])
            let snapshot = try held.reloaded()
            #expect(snapshot.devices == [removed, Sample.device(2, name: "Zoë’s")])
            #expect(snapshot.apps == [app] && snapshot.keys == [key])
        }
    }

    @Test(arguments: Engine.allCases)
    func `changes of one key happen in order`(_ engine: Engine) throws {
        try engine.withStore { held in
            try held.store.commit([
                .save(Sample.registration(1)), .forget(registration: 1),
                .save(Sample.registration(1, topic: "com.example.last")),
            ])
            let snapshot = try held.reloaded()
            #expect(snapshot.registrations.map(\.topic) == ["com.example.last"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `nothing to commit and upkeep leave everything as it was`(_ engine: Engine) throws {
        try engine.withStore { held in
            try held.store.commit([.append(Sample.push(1))])
            try held.store.commit([])
            #expect(try held.store.maintain(at: Sample.now) == false)
            #expect(try held.reloaded().numbers == [1])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a closed store refuses`(_ engine: Engine) throws {
        try engine.withStore { held in
            held.store.close()
            let error = #expect(throws: StoreError.self) { try held.store.commit([]) }
            #expect(error?.kind == .closed)
            #expect(throws: StoreError.self) { try held.store.load(at: Sample.now) }
        }
    }
}
