import BenchmarkSupport
import JSON
import PushCore
import Reactor
import Storage

/// Fills a gateway's store with queued pushes for devices that never come, so that a start has much to read.
struct Fill {
    let file: String
    let count: Int
    let payload: [UInt8]
    /// Pushes of each device; the gateway keeps 100 for one that is away unless it is told otherwise.
    let perDevice: Int

    /// Changes in one transaction.
    private static let batch = 2000

    /// The gateway must not run. It should have been started once, or it will not take its seed any more.
    func run() throws {
        let now = Moment(nanoseconds: Clock.wall())
        let store = try SQLiteStore(path: file)
        let snapshot = try store.load(at: now)
        var changes: [StoreChange] = []
        let topic = snapshot.apps.first?.bundle ?? "com.example.demo"
        if snapshot.apps.isEmpty {
            changes.append(.saveApp(App(bundle: topic, team: "DEMOTEAM01", broadcast: false)))
        }
        var registration = snapshot.lastRegistrationNumber
        for index in 0..<count {
            if index % perDevice == 0 {
                registration += 1
                changes += newDevice(registration, topic: topic, at: now)
            }
            changes.append(.append(push(snapshot.lastPushNumber + UInt64(index) + 1, for: registration, at: now)))
            guard changes.count >= Self.batch || index == count - 1 else { continue }
            try store.commit(changes)
            changes.removeAll(keepingCapacity: true)
        }
        store.close()
        Terminal.object([
            ("load", .string("fill")), ("count", .integer(Int64(count))),
            ("registrations", .integer(Int64(registration - snapshot.lastRegistrationNumber))),
        ])
    }

    private func newDevice(_ number: UInt64, topic: String, at now: Moment) -> [StoreChange] {
        let id = DeviceID(UInt64.random(in: 1 ... .max))
        let device = Device(
            id: id,
            name: "fill-\(number)",
            keyType: .ec,
            baseToken: token(of: id),
            certificateNotAfter: now + .days(365),
            createdAt: now,
            removedAt: nil
        )
        let registration = Registration(
            number: number,
            token: token(of: id),
            device: id,
            topic: topic,
            createdAt: now,
            state: .active,
            revokedAt: nil
        )
        return [.saveDevice(device), .save(registration)]
    }

    /// A token starts with the two bytes that name its device's home.
    private func token(of id: DeviceID) -> DeviceToken {
        let home = [UInt8(id.bucket >> 8), UInt8(truncatingIfNeeded: id.bucket)]
        let rest = (home.count..<DeviceToken.usualCount).map { _ in UInt8.random(in: 0 ... .max) }
        guard let token = DeviceToken(home + rest) else { preconditionFailure("32 bytes are a token") }
        return token
    }

    private func push(_ number: UInt64, for registration: UInt64, at now: Moment) -> Push {
        let id = UniqueID(high: UInt64.random(in: 0 ... .max), low: number)
        return Push(
            number: number,
            registration: registration,
            apnsID: UUIDText(id),
            uniqueID: id,
            priority: .immediate,
            type: .alert,
            expires: now + .days(29),
            acceptedAt: now,
            content: PushContent(payload: payload)
        )
    }
}
