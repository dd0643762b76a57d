import PushCore

/// Reads the tables back into values. What a row holds is checked: a file may have been damaged or changed by hand.
struct StoreReader {
    private let database: Database

    /// What numbers pushes and registrations have. Nobody counts so far, and counting on from there never overflows.
    private static let numbers: ClosedRange<Int64> = 1...1 << 62

    init(_ database: Database) { self.database = database }

    /// Calls `body` with each push, by number, ascending.
    func pushes(_ body: (Push) -> Void) throws(StoreError) {
        try each(StoreSQL.pushes, "pushes") { row in
            guard Self.numbers.contains(row.number(0)), Self.numbers.contains(row.number(1)),
                let priority = Priority(rawValue: UInt8(clamping: row.number(2)))
            else { return false }
            let type = PushType(code: UInt8(clamping: row.number(3)))
            guard type != nil || row.number(3) == 0, let apnsID = row.withBytes(6, { UUIDText($0) }),
                let uniqueID = row.withBytes(7, { UniqueID($0) })
            else { return false }
            // One that is tried once is not stored, and a longer one would not fit into its frame.
            guard row.number(4) > row.number(5), row.withBytes(8, { $0.count <= Limits.collapseID }),
                row.number(9) <= Limits.voipPayload
            else { return false }
            body(
                Push(
                    number: row.unsigned(0),
                    registration: row.unsigned(1),
                    apnsID: apnsID,
                    uniqueID: uniqueID,
                    priority: priority,
                    type: type,
                    expires: Moment(nanoseconds: row.number(4)),
                    acceptedAt: Moment(nanoseconds: row.number(5)),
                    content: PushContent(
                        storedPayloadCount: Int(row.number(9)),
                        collapseID: row.bytes(8)
                    )
                )
            )
            return true
        }
    }

    func registrations() throws(StoreError) -> [Registration] {
        try all(StoreSQL.registrations, "registrations") { row in
            guard Self.numbers.contains(row.number(0)), let token = DeviceToken(row.bytes(1)),
                row.withBytes(3, { (1...Limits.topic).contains($0.count) }),
                let state = Registration.State(rawValue: UInt8(clamping: row.number(5)))
            else { return nil }
            return Registration(
                number: row.unsigned(0),
                token: token,
                device: row.isNull(2) ? nil : DeviceID(row.unsigned(2)),
                topic: row.text(3),
                createdAt: Moment(nanoseconds: row.number(4)),
                state: state,
                revokedAt: row.moment(6)
            )
        }
    }

    func devices() throws(StoreError) -> [Device] {
        try all(StoreSQL.devices, "devices") { row in
            guard let token = DeviceToken(row.bytes(3)), let keyType = Device.KeyType(rawValue: row.text(2)) else {
                return nil
            }
            return Device(
                id: DeviceID(row.unsigned(0)),
                name: row.text(1),
                keyType: keyType,
                baseToken: token,
                certificateNotAfter: Moment(nanoseconds: row.number(4)),
                signer: row.unsigned(7),
                createdAt: Moment(nanoseconds: row.number(5)),
                removedAt: row.moment(6)
            )
        }
    }

    func apps() throws(StoreError) -> [App] {
        try all(StoreSQL.apps, "apps") { row in
            App(bundle: row.text(0), team: row.text(1), broadcast: row.number(2) != 0)
        }
    }

    func keys() throws(StoreError) -> [ProviderKey] {
        try all(StoreSQL.keys, "keys") { row in
            guard let scope = ProviderKey.Scope(rawValue: row.text(2)) else { return nil }
            return ProviderKey(
                keyID: row.text(0),
                team: row.text(1),
                environment: scope,
                topics: row.text(3).split(separator: "\n").map(String.init),
                publicKey: row.bytes(4),
                createdAt: Moment(nanoseconds: row.number(5)),
                revokedAt: row.moment(6)
            )
        }
    }

    /// The highest number that was given.
    func lastNumber(_ sql: String) throws(StoreError) -> UInt64 {
        let number = try database.number(sql)
        guard number == 0 || Self.numbers.contains(number) else {
            throw StoreError(.damaged, "the last number, \(number), makes no sense", file: database.file)
        }
        return UInt64(number)
    }

    private func all<Value>(
        _ sql: String,
        _ table: String,
        _ read: (Statement) -> Value?
    ) throws(StoreError) -> [Value] {
        var values: [Value] = []
        try each(sql, table) { row in
            guard let value = read(row) else { return false }
            values.append(value)
            return true
        }
        return values
    }

    /// Calls `body` with each row; false means that the row makes no sense.
    private func each(_ sql: String, _ table: String, _ body: (Statement) -> Bool) throws(StoreError) {
        let rows = try Statement(database, sql)
        var count = 0
        while try rows.step() {
            count += 1
            guard body(rows) else {
                // A row that is left out would be a push that is lost without a word.
                let what = "row \(count) of \(table), whose key is \(rows.text(0)), makes no sense"
                throw StoreError(.damaged, what, file: database.file)
            }
        }
    }
}

extension Statement {
    fileprivate func moment(_ column: Int32) -> Moment? {
        isNull(column) ? nil : Moment(nanoseconds: number(column))
    }
}
