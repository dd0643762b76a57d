package import PushCore
package import Reactor
package import Storage
import TLS

/// A gateway without threads, listeners and admin server, for a simulation: whoever has it turns its loops and its
/// store, one at a time and in any order, and brings it connections. Loops, homes and store are those of `Gateway`.
package final class HandTurnedGateway {
    /// Who comes in by a connection.
    package enum Door: Sendable {
        case provider
        case device
    }

    /// A step of a drain (docs/operations.md, "Drain").
    package enum Farewell: Sendable, CaseIterable {
        case refuse
        case notice
        case farewell
        case close
    }

    /// What has happened to pushes since it was last emptied.
    package var events: [DeliveryEvent] = []
    private let shared: LoopShared
    private var loops: [Loop] = []
    private let peer: PeerAddress

    /// Starts with what the store has kept.
    package init(
        config: Config,
        files: InstanceFiles,
        store: sending any MessageStore,
        clock: GatewayClock
    ) throws(StartError) {
        guard let peer = PeerAddress([127, 0, 0, 1]) else { preconditionFailure("four bytes are an address") }
        self.peer = peer
        let identity = try GatewayIdentity(files, config, loops: config.threads, at: clock.now())
        do throws(StoreError) {
            let snapshot = try store.load(at: clock.now())
            let catalog = Catalog(version: 1, apps: snapshot.apps, keys: snapshot.keys)
            do throws(SystemError) {
                shared = try makeShared(config, store, clock, identity.certificates)
                for (index, share) in HomeShare.split(snapshot, loops: config.threads).enumerated() {
                    let home = makeHome(share, shared, catalog, index)
                    let start = LoopStart(home: home, catalog: catalog, contexts: identity.contexts, listeners: [])
                    loops.append(try Loop(index: index, shared: shared, start: start))
                }
            } catch {
                throw StoreError(.cannotOpen, "\(error)", file: "a loop")
            }
        } catch {
            throw StartError("\(error)")
        }
        for loop in loops { loop.witness = { [unowned self] in events += $0 } }
    }

    // MARK: What happens to it

    /// One turn of a loop, with what has come.
    package func turn(_ loop: Int) throws(SystemError) { try loops[loop].turnAtOnce() }

    /// One turn of the store.
    package func turnStore() { shared.store.turn() }

    /// A connection has come to a loop.
    package func open(_ descriptor: consuming FileDescriptor, _ door: Door, on loop: Int) {
        loops[loop].open(descriptor, peer, door == .device ? .device : .provider)
    }

    /// A step of a drain begins with the next turn of each loop.
    package func drain(_ step: Farewell) {
        let steps: [DrainStep] =
            switch step {
            case .refuse: [.refuse]
            case .notice: [.notice]
            case .farewell: [.farewell, .dismiss(.max)]
            case .close: [.close]
            }
        for mailbox in shared.mailboxes { for step in steps { mailbox.post(.drain(step)) } }
    }

    /// An operator revokes a registration, with the next turn of its loop.
    package func revoke(_ token: DeviceToken) {
        shared.mailboxes[Int(token.bucket) % loops.count].post(
            .perform { loop in
                guard let registration = loop.home.registrations[token] else { return }
                loop.home.revoke(registration, at: loop.now)
                loop.carryOutEffects()
            }
        )
    }

    /// The end of a drain: everything that was submitted is written.
    package func stopStore() { shared.store.stop() }

    // MARK: What can be seen of it

    /// The loop that is home to a device.
    package func loop(of device: DeviceID) -> Int { Int(device.bucket) % loops.count }

    /// A device's queue as it is now.
    package func queue(of device: DeviceID) -> DeviceQueue? { state(device)?.queue }

    /// The connection of a device's session; nil without one.
    package func session(of device: DeviceID) -> UInt64? { state(device)?.session?.connection }

    /// A push is held: it waits, is in flight, or will come back if the one that took its place is refused.
    package func holds(_ number: UInt64, for device: DeviceID) -> Bool {
        guard let state = state(device) else { return false }
        return state.queue.push(numbered: number) != nil
            || state.unanswered.displaced.contains { $0.queued.push.number == number }
    }

    /// How many pushes a device holds, displaced ones included.
    package func heldCount(of device: DeviceID) -> Int {
        state(device).map { $0.queue.heldCount + $0.unanswered.displaced.count } ?? 0
    }

    /// How many of a device's pushes have no answer.
    package func unansweredCount(of device: DeviceID) -> Int { state(device)?.unanswered.count ?? 0 }

    /// What the metric says is held.
    package var heldMetric: Int { shared.metrics.held.value }

    /// The most bytes that wait for one device's socket.
    package var mostUnsent: Int {
        loops.lazy.flatMap(\.connections.all).map { entry in
            if case .device(let device) = entry.connection { device.stream.unsentCount } else { 0 }
        }.max() ?? 0
    }

    private func state(_ device: DeviceID) -> DeviceState? { loops[loop(of: device)].home.devices[device] }
}

private func makeShared(
    _ config: Config,
    _ store: sending any MessageStore,
    _ clock: GatewayClock,
    _ certificates: Certificates.InForce
) throws(SystemError) -> LoopShared {
    let metrics = Metrics()
    var mailboxes: [Mailbox<LoopMessage>] = []
    for _ in 0..<config.threads { mailboxes.append(try Mailbox()) }
    return LoopShared(
        config: config,
        metrics: metrics,
        log: Log(level: .error, format: .text, clock: { clock.now() }, write: { _ in true }),
        clock: clock,
        store: try StoreThread(turnedByHand: store) { clock.now().nanoseconds },
        deliveries: nil,
        mailboxes: mailboxes,
        certificates: Certificates(certificates),
        answers: AnswerHook(),
        rates: Rates(metrics),
        addresses: AddressBook(AddressBook.Bounds(connections: config.limitsConnections))
    )
}
