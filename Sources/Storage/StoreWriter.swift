import PushCore

/// Writes changes through prepared statements, inside its caller's transaction.
final class StoreWriter {
    private let insertPush: Statement
    private let deletePush: Statement
    private let saveRegistration: Statement
    private let deleteRegistration: Statement
    private let saveDevice: Statement
    private let saveApp: Statement
    private let deleteApp: Statement
    private let saveKey: Statement
    private let reserve: Statement
    private let database: Database

    init(_ database: Database) throws(StoreError) {
        self.database = database
        insertPush = try Statement(database, StoreSQL.insertPush)
        deletePush = try Statement(database, StoreSQL.deletePush)
        saveRegistration = try Statement(database, StoreSQL.saveRegistration)
        deleteRegistration = try Statement(database, StoreSQL.deleteRegistration)
        saveDevice = try Statement(database, StoreSQL.saveDevice)
        saveApp = try Statement(database, StoreSQL.saveApp)
        deleteApp = try Statement(database, StoreSQL.deleteApp)
        saveKey = try Statement(database, StoreSQL.saveKey)
        reserve = try Statement(database, StoreSQL.reserve)
    }

    func apply(_ change: StoreChange) throws(StoreError) {
        switch change {
        case .append(let push): try append(push)
        case .discard(let number): try delete(deletePush, number)
        case .save(let registration): try save(registration)
        case .forget(let number): try delete(deleteRegistration, number)
        case .saveDevice(let device): try save(device)
        case .saveApp(let app): try save(app)
        case .removeApp(let bundle):
            try deleteApp.bind(1, bundle)
            try deleteApp.run()
        case .saveKey(let key): try save(key)
        }
    }

    /// Sets aside the push numbers up to `ceiling`.
    func reserve(_ ceiling: UInt64) throws(StoreError) {
        try reserve.bind(1, ceiling)
        try reserve.run()
    }

    /// Writes a page without changing anything.
    func touch() throws(StoreError) {
        try database.execute("pragma user_version = \(StoreSQL.schema.version)")
    }

    private func append(_ push: Push) throws(StoreError) {
        precondition(!push.isOnce, "a push that is tried once is not stored")
        let row = insertPush
        try row.bind(1, push.number)
        try row.bind(2, push.registration)
        try row.bind(3, Int64(push.priority.rawValue))
        try row.bind(4, Int64(push.type?.code ?? 0))
        try row.bind(5, push.expires.nanoseconds)
        try row.bind(6, push.acceptedAt.nanoseconds)
        try row.bind(7, push.apnsID.characters.span)
        try row.bind(8, push.uniqueID.bytes.span)
        try row.bind(9, push.content.collapseID.span)
        try row.bind(10, borrowing: push.content.payload) { () throws(StoreError) in try row.run() }
    }

    private func delete(_ statement: Statement, _ number: UInt64) throws(StoreError) {
        try statement.bind(1, number)
        try statement.run()
    }

    private func save(_ registration: Registration) throws(StoreError) {
        let row = saveRegistration
        try row.bind(1, registration.number)
        try row.bind(2, registration.token.bytes)
        try row.bind(3, registration.device.map { Int64(bitPattern: $0.value) })
        try row.bind(4, registration.topic)
        try row.bind(5, registration.createdAt.nanoseconds)
        try row.bind(6, Int64(registration.state.rawValue))
        try row.bind(7, registration.revokedAt?.nanoseconds)
        try row.run()
    }

    private func save(_ device: Device) throws(StoreError) {
        let row = saveDevice
        try row.bind(1, device.id.value)
        try row.bind(2, device.name)
        try row.bind(3, device.keyType.rawValue)
        try row.bind(4, device.baseToken.bytes)
        try row.bind(5, device.certificateNotAfter.nanoseconds)
        try row.bind(6, device.createdAt.nanoseconds)
        try row.bind(7, device.removedAt?.nanoseconds)
        try row.bind(8, device.signer)
        try row.run()
    }

    private func save(_ app: App) throws(StoreError) {
        try saveApp.bind(1, app.bundle)
        try saveApp.bind(2, app.team)
        try saveApp.bind(3, app.broadcast ? Int64(1) : Int64(0))
        try saveApp.run()
    }

    private func save(_ key: ProviderKey) throws(StoreError) {
        let row = saveKey
        try row.bind(1, key.keyID)
        try row.bind(2, key.team)
        try row.bind(3, key.environment.rawValue)
        // No topic holds a line break: each was checked when it came in.
        try row.bind(4, key.topics.joined(separator: "\n"))
        try row.bind(5, key.publicKey)
        try row.bind(6, key.createdAt.nanoseconds)
        try row.bind(7, key.revokedAt?.nanoseconds)
        try row.run()
    }
}
