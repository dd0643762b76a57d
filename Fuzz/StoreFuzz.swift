import Glibc
import PushCore
import Wire

@testable import Gateway
@testable import Storage

/// A store's files as a fault of the disk, or a hand, may leave them: each is refused, or loads, loads the same again
/// and serves a gateway. The first byte says what the rest changes: fields of rows, bytes of the database, or bytes of
/// the delivery log.
func fuzzStore(_ input: [UInt8]) {
    guard let kind = input.first else { return }
    var feed = Feed(input.dropFirst())
    Folder.inUse { folder in
        switch kind % 3 {
        case 0:
            folder.write(Sample.store, to: "carillon.db")
            changeRows(of: folder.path("carillon.db"), &feed)
            open(folder, isExact: true)
        case 1:
            folder.write(changed(Sample.store, &feed), to: "carillon.db")
            if !feed.isAtEnd { folder.write(feed.rest(), to: "carillon.db-wal") }
            open(folder, isExact: false)
        default:
            folder.write(changed(Sample.log, &feed), to: "deliveries.db")
            readLog(folder.path("deliveries.db"))
        }
    }
}

// MARK: What is changed

/// Every column that a start reads. Values that a column's type forbids are refused by SQLite.
private let columns =
    [
        "pushes": ["number", "registration", "priority", "type", "expires", "accepted", "apns_id", "unique_id"]
            + ["collapse_id", "payload"],
        "registrations": ["number", "token", "device", "topic", "created", "state", "revoked"],
        "devices": ["id", "name", "key_type", "base_token", "not_after", "created", "removed"],
        "apps": ["bundle", "team", "broadcast"],
        "keys": ["key_id", "team", "environment", "topics", "public_key", "created", "revoked"],
        "reserved": ["numbers"],
        "sqlite_sequence": ["seq"],
    ].flatMap { table, names in names.map { "\(table).\($0)" } }.sorted() + laterColumns

/// At the end, so that older files of the corpus mean what they meant.
private let laterColumns = ["devices.signer"]

/// Sets one field of one row, or of all.
private func changeRows(of path: String, _ feed: inout Feed) {
    guard let database = try? Database(file: path) else { preconditionFailure("the sample cannot be opened") }
    while !feed.isAtEnd {
        let column = columns[Int(feed.byte()) % columns.count].split(separator: ".")
        let (row, form) = (feed.byte(), feed.byte())
        let place = row == 255 ? "" : " where rowid = (select rowid from \(column[0]) limit 1 offset \(row % 4))"
        // Tables without a rowid have their key instead.
        let keyed = ["apps": "bundle", "keys": "key_id"][String(column[0])]
        let sql = "update \(column[0]) set \(column[1]) = ?\(keyed.map { place.replacing("rowid", with: $0) } ?? place)"
        let statement = prepared(database, sql)
        bind(form, &feed, statement)
        // Another type, or a key that is taken.
        _ = try? statement.run()
    }
}

private func prepared(_ database: Database, _ sql: String) -> Statement {
    do {
        return try Statement(database, sql)
    } catch {
        preconditionFailure("\(sql): \(error)")
    }
}

private func bind(_ form: UInt8, _ feed: inout Feed, _ statement: Statement) {
    let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max, Sample.now.nanoseconds]
    do {
        switch form % 8 {
        case 0: try statement.bind(1, Int64?.none)
        case 1: try statement.bind(1, extremes[Int(feed.byte()) % extremes.count])
        case 2: try statement.bind(1, feed.number())
        case 3: try statement.bind(1, Int64(feed.byte()))
        case 4: try statement.bind(1, text: feed.bytes().span)
        case 5: try statement.bind(1, [UInt8](repeating: 7, count: Int(feed.byte()) << 9))
        case 6: try statement.bind(1, String(repeating: "a", count: Int(feed.byte()) << 9))
        default: try statement.bind(1, feed.bytes())
        }
    } catch {
        preconditionFailure("cannot bind: \(error)")
    }
}

/// A file with some of its bytes changed, or its end cut off.
private func changed(_ file: [UInt8], _ feed: inout Feed) -> [UInt8] {
    var file = file
    var steps = Int(feed.byte()) % 8
    while steps > 0, !feed.isAtEnd, !file.isEmpty {
        steps -= 1
        let place = Int(feed.byte()) << 8 | Int(feed.byte())
        switch feed.byte() {
        case 0..<8: file.removeLast(min(file.count, place))
        case 8..<16: file.replaceSubrange(page(place, file), with: file[page(Int(feed.byte()), file)])
        case 16..<24: file += feed.bytes()
        default:
            for (index, byte) in feed.bytes().enumerated() { file[(place + index) % file.count] = byte }
        }
    }
    return file
}

private func page(_ number: Int, _ file: [UInt8]) -> Range<Int> {
    let count = min(4096, file.count)
    let start = number % max(1, file.count / 4096) * 4096
    return min(start, file.count - count)..<min(start, file.count - count) + count
}

// MARK: What must hold

/// What a store gave.
private struct Opened {
    var snapshot = StoreSnapshot()
    var payloads: [UInt64: [UInt8]] = [:]
}

private func open(_ folder: Folder, isExact: Bool) {
    let path = folder.path("carillon.db")
    guard let first = opened(path, adding: nil) else { return }
    serve(first)
    let number = first.snapshot.lastPushNumber + 1
    let push = Sample.push(number, registration: first.snapshot.registrations.first?.number ?? 1)
    // A file whose pages are damaged may say anything, as long as it says it in order.
    guard let second = opened(path, adding: push), let third = opened(path, adding: nil), isExact else { return }
    precondition(second.snapshot.registrations == first.snapshot.registrations, "other registrations")
    precondition(second.snapshot.devices == first.snapshot.devices, "other devices")
    precondition(second.snapshot.apps == first.snapshot.apps, "other apps")
    precondition(second.snapshot.keys == first.snapshot.keys, "other keys")
    precondition(second.snapshot.lastPushNumber > first.snapshot.lastPushNumber, "numbers are given again")
    let numbers = first.snapshot.pushes.map(\.number)
    precondition(second.snapshot.pushes.map(\.number) == numbers, "other pushes")
    precondition(third.snapshot.pushes.map(\.number) == numbers + [number], "a push was lost")
}

/// nil if the store is refused. `push` is added once it has been read.
private func opened(_ path: String, adding push: Push?) -> Opened? {
    do throws(StoreError) {
        let store = try SQLiteStore(path: path)
        defer { store.close() }
        var opened = Opened(snapshot: try store.load(at: Sample.now))
        let numbers = opened.snapshot.pushes.map(\.number)
        for (number, payload) in zip(numbers, try store.payloads(numbers)) { opened.payloads[number] = payload }
        if let push { try store.commit([.append(push)]) }
        return opened
    } catch {
        // It may name a file beside the database.
        precondition(!error.what.isEmpty && error.file.hasPrefix(path), "refused without a reason")
        return nil
    }
}

/// A gateway of two loops starts with it; its devices come, get what waits, and go.
private func serve(_ opened: Opened) {
    let snapshot = opened.snapshot
    let catalog = Catalog(version: 1, apps: snapshot.apps, keys: snapshot.keys)
    for (loop, share) in HomeShare.split(snapshot, loops: 2).enumerated() {
        let (push, registration) = (share.lastPush, share.lastRegistration)
        var numbers = Numbers(afterPush: push, afterRegistration: registration, loop: loop, of: 2)
        let home = Home(config: Config(), metrics: Metrics(), numbers: numbers)
        precondition(numbers.nextPush() > push && numbers.nextRegistration() > registration, "a number is given again")
        home.restore(share, catalog)
        for id in home.devices.keys { visit(id, home, catalog, opened.payloads) }
        _ = home.oldestHeld
        home.beginSweep(at: Sample.now)
        while home.holders.isSweeping { home.sweepPart(at: Sample.now) }
    }
}

private func visit(_ id: DeviceID, _ home: Home, _ catalog: Catalog, _ payloads: [UInt64: [UInt8]]) {
    let link = SessionLink(connection: 1, connectedAt: Sample.now)
    let nonce = ConnectNonce(made: Sample.now, random: id.value)
    // A removed device is refused.
    guard let device = try? home.openSession(id, link, isAwake: true, nonce: nonce) else { return }
    let modes = catalog.topicsByHash.keys.map { ($0, TopicMode.enabled) }
    _ = home.filter(device, Dictionary(uniqueKeysWithValues: modes), at: Sample.now)
    let wanted = home.takeWanted()
    _ = home.loaded(wanted, wanted.map { payloads[$0.number] }, at: Sample.now)
    checkFrames(home.effects)
    home.tick(device, at: Sample.now + .seconds(100))
    home.closeSession(device, link, at: Sample.now + .seconds(100))
    home.effects = []
}

/// What a device is sent can be read.
private func checkFrames(_ effects: [HomeEffect]) {
    var (frames, count): ([UInt8], Int) = ([], 0)
    for case .notify(_, let notification) in effects {
        notification.encode(into: &frames, isExtended: true)
        count += 1
    }
    var decoder = ServerFrameDecoder(frameLimit: 16_384)
    decoder.append(frames.span)
    do {
        while try decoder.next() != nil { count -= 1 }
    } catch {
        preconditionFailure("a device cannot read what is stored for it")
    }
    precondition(count == 0, "a frame was lost or made up")
}

private func readLog(_ path: String) {
    do throws(StoreError) {
        let table = try DeliveryTable(Database(file: path), keep: .days(7), rowLimit: 10)
        let records = try table.find(DeliveryQuery(limit: 100))
        precondition(records.count <= 100, "more than was asked for")
        for record in records {
            precondition(record.changes.last?.state == record.state, "another state")
            _ = [record.acceptedAt, record.changes[0].at].map(timestamp)
        }
        try table.write([Sample.events(of: 1000)[...]])
        _ = try table.record(1000)
    } catch {
        precondition(!error.what.isEmpty && error.file == path, "refused without a reason")
    }
}

// MARK: What it starts from

/// A folder in memory, for as long as an input takes.
private struct Folder {
    private let name: String

    static func inUse(_ body: (Folder) -> Void) {
        var template = Array("/dev/shm/carillon-fuzz-XXXXXX".utf8CString)
        guard let name = mkdtemp(&template).map({ String(cString: $0) }) else { preconditionFailure("no folder") }
        let folder = Folder(name: name)
        body(folder)
        for file in folder.names { unlink(folder.path(file)) }
        rmdir(name)
    }

    private var names: [String] {
        guard let stream = opendir(name) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            )
        }
        return names.filter { $0 != "." && $0 != ".." }
    }

    func path(_ file: String) -> String { "\(name)/\(file)" }

    func write(_ bytes: [UInt8], to file: String) {
        let descriptor = Glibc.open(path(file), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(descriptor) }
        precondition(Glibc.write(descriptor, bytes, bytes.count) == bytes.count, "cannot write")
    }

    func read(_ file: String) -> [UInt8] {
        let descriptor = Glibc.open(path(file), O_RDONLY)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        precondition(count > 0, "cannot read")
        return Array(bytes.prefix(count))
    }
}

private enum Sample {
    static let now = Moment(seconds: 1_700_000_000)

    /// A database with some of everything, and a log with as many pushes.
    static let store = made { folder throws(StoreError) in
        let store = try SQLiteStore(path: folder.path("carillon.db"))
        _ = try store.load(at: now)
        try store.commit(changes)
        store.close()
        return "carillon.db"
    }
    static let log = made { folder throws(StoreError) in
        let table = try DeliveryTable(Database(file: folder.path("deliveries.db")), keep: .days(7), rowLimit: 10)
        try table.write((1...4).map { events(of: $0)[...] })
        return "deliveries.db"
    }

    private static func made(_ make: (Folder) throws(StoreError) -> String) -> [UInt8] {
        var bytes: [UInt8] = []
        Folder.inUse { folder in
            do throws(StoreError) {
                bytes = folder.read(try make(folder))
            } catch {
                preconditionFailure("no sample: \(error)")
            }
        }
        return bytes
    }

    private static var changes: [StoreChange] {
        var changes: [StoreChange] = [
            .saveApp(App(bundle: "com.example.a", team: "DEMOTEAM01", broadcast: false)),
            .saveApp(App(bundle: "com.example.b", team: "DEMOTEAM01", broadcast: true)),
            .saveKey(key("ABC123DEFG", revokedAt: nil)), .saveKey(key("ABC123DEFH", revokedAt: now)),
        ]
        for number in 1...3 as ClosedRange<UInt64> { changes.append(.saveDevice(device(number))) }
        for number in 1...4 as ClosedRange<UInt64> { changes.append(.save(registration(number))) }
        for number in 1...4 as ClosedRange<UInt64> {
            changes.append(.append(push(number, registration: 1 + number % 2)))
        }
        return changes
    }

    private static func token(_ number: UInt64) -> DeviceToken {
        let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number &* UInt64($0 + 1)) }
        guard let token = DeviceToken(bytes) else { preconditionFailure("32 bytes are a token") }
        return token
    }

    private static func key(_ keyID: String, revokedAt: Moment?) -> ProviderKey {
        ProviderKey(
            keyID: keyID,
            team: "DEMOTEAM01",
            environment: .all,
            topics: ["com.example.a", "com.example.a.voip"],
            publicKey: Array(repeating: 7, count: 91),
            createdAt: now,
            revokedAt: revokedAt
        )
    }

    private static func device(_ number: UInt64) -> Device {
        Device(
            id: DeviceID(number << 48 | number),
            name: "phone",
            keyType: .ec,
            baseToken: token(number),
            certificateNotAfter: now + .days(365),
            createdAt: now,
            removedAt: number == 3 ? now : nil
        )
    }

    private static func registration(_ number: UInt64) -> Registration {
        Registration(
            number: number,
            token: token(100 + number),
            device: number == 4 ? nil : DeviceID(number << 48 | number),
            topic: "com.example.a",
            createdAt: now,
            state: number == 3 ? .unregistered : .active,
            revokedAt: number == 3 ? now : nil
        )
    }

    static func push(_ number: UInt64, registration: UInt64) -> Push {
        let collapseID = number % 3 == 0 ? Array("news".utf8) : []
        return Push(
            number: number,
            registration: registration,
            apnsID: UUIDText(UniqueID(high: 1, low: number)),
            uniqueID: UniqueID(high: 2, low: number),
            priority: number % 2 == 0 ? .immediate : .powerAware,
            type: number % 3 == 0 ? .alert : nil,
            expires: now + .days(1),
            acceptedAt: now - .seconds(100),
            content: PushContent(payload: Array("{}".utf8)[...], collapseID: collapseID[...])
        )
    }

    static func events(of number: UInt64) -> [DeliveryEvent] {
        [DeliveryState.received, .storedOffline, .deliveredFromStorage].map { state in
            DeliveryEvent(
                push: push(number, registration: 1),
                number: number,
                at: now,
                state: state,
                cause: nil,
                device: DeviceID(1),
                topic: "com.example.a",
                tokenPrefix: "01020304"
            )
        }
    }
}
