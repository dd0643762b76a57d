package import PushCore

/// A store that forgets everything at the end of the process: for tests, and for gateways that may lose pushes.
package final class MemoryStore: MessageStore {
    private var pushes: [UInt64: Push] = [:]
    private var registrations: [UInt64: Registration] = [:]
    private var devices: [DeviceID: Device] = [:]
    private var apps: [String: App] = [:]
    private var keys: [String: ProviderKey] = [:]
    private var lastPushNumber: UInt64 = 0
    private var lastRegistrationNumber: UInt64 = 0
    private var isNew = true
    private var isOpen = true

    package init() {}

    package func load(at now: Moment) throws(StoreError) -> StoreSnapshot {
        try checkOpen()
        var sieve = PushSieve(at: now)
        for number in pushes.keys.sorted() { if let push = pushes[number] { sieve.add(push) } }
        for number in sieve.stale { pushes[number] = nil }

        var snapshot = StoreSnapshot()
        snapshot.apps = apps.values.sorted { $0.bundle < $1.bundle }
        snapshot.keys = keys.values.sorted { $0.keyID < $1.keyID }
        snapshot.devices = devices.values.sorted { $0.id.value < $1.id.value }
        snapshot.registrations = registrations.values.sorted { $0.number < $1.number }
        snapshot.pushes = sieve.pushes
        snapshot.lastPushNumber = lastPushNumber
        snapshot.lastRegistrationNumber = lastRegistrationNumber
        snapshot.isNew = isNew
        return snapshot
    }

    package func payloads(_ numbers: [UInt64]) throws(StoreError) -> [[UInt8]?] {
        try checkOpen()
        return numbers.map { number in pushes[number].map { Array($0.content.payload) } }
    }

    package func commit(_ changes: [StoreChange]) throws(StoreError) {
        try checkOpen()
        isNew = false
        for change in changes { apply(change) }
    }

    package func maintain(at now: Moment) throws(StoreError) -> Bool {
        try checkOpen()
        return false
    }

    package func close() { isOpen = false }

    private func checkOpen() throws(StoreError) {
        guard isOpen else { throw StoreError(.closed, "the store is closed", file: "memory:") }
    }

    private func apply(_ change: StoreChange) {
        switch change {
        case .append(let push):
            precondition(!push.isOnce, "a push that is tried once is not stored")
            pushes[push.number] = push
            lastPushNumber = max(lastPushNumber, push.number)
        case .discard(let number): pushes[number] = nil
        case .save(let registration):
            registrations[registration.number] = registration
            lastRegistrationNumber = max(lastRegistrationNumber, registration.number)
        case .forget(let number): registrations[number] = nil
        case .saveDevice(let device): devices[device.id] = device
        case .saveApp(let app): apps[app.bundle] = app
        case .removeApp(let bundle): apps[bundle] = nil
        case .saveKey(let key): keys[key.keyID] = key
        }
    }
}
