import PushCore
import Reactor
import Storage
import TLS

/// What the admin API does to a running gateway. Its threads may wait; loops never wait for them.
final class Control: Sendable {
    let shared: LoopShared
    let startedAt: Moment
    let hasTestHooks: Bool
    let isStarting = AtomicCell()
    let isDraining = AtomicCell()
    /// Grows when a drain begins or is called off: one that finds another number than its own stops.
    let drainNumber = Locked(0)
    /// nil when the store is memory.
    let backups: Backups?
    private let catalog: Locked<Catalog>
    private let reloads: Mailbox<ReloadRequest>
    private let currentConfig: Locked<Config>
    /// A drain has begun that ends with the process.
    let isLeaving = AtomicCell()
    /// It waits no longer for anything but the answers.
    let isHurried = AtomicCell()
    /// One change of apps, keys or devices at a time, so that two admins do not overwrite each other.
    private let change = Locked(())

    init(
        shared: LoopShared,
        catalog: Catalog,
        reloads: Mailbox<ReloadRequest>,
        backups: Backups?,
        hasTestHooks: Bool
    ) {
        self.shared = shared
        currentConfig = Locked(shared.config)
        self.hasTestHooks = hasTestHooks
        startedAt = shared.clock.now()
        self.catalog = Locked(catalog)
        self.reloads = reloads
        self.backups = backups
        isStarting.set(1)
    }

    var rates: Rates { shared.rates }

    /// When the oldest push that is held was accepted; nil when none is, or a loop does not answer in time.
    var oldestHeld: Moment? {
        // A metric that is missing for once harms less than a page that is.
        (try? ask { $0.home.oldestHeld })?.compactMap { $0 }.min()
    }

    var currentCatalog: Catalog { catalog.withLock { $0 } }
    var certificates: Certificates { shared.certificates }
    /// What the server's certificate is for.
    var serverNames: [String] { certificates.current.server.names }
    /// The settings in force.
    var config: Config { currentConfig.withLock { $0 } }
    var now: Moment { shared.clock.now() }

    static let patienceMilliseconds = Int(Limits.adminPatience.milliseconds)

    /// Runs `work` on every loop and collects what it returns; a loop that does not answer in time is an error.
    func ask<Value: Sendable>(
        milliseconds: Int = patienceMilliseconds,
        _ work: @escaping @Sendable (Loop) -> Value
    ) throws(AdminFailure) -> [Value] {
        let replies = shared.mailboxes.map { mailbox in
            let reply = Reply<Value>()
            mailbox.post(.perform { reply.set(work($0)) })
            return reply
        }
        var values: [Value] = []
        for reply in replies {
            guard let value = reply.wait(milliseconds: milliseconds) else { throw .unavailable }
            values.append(value)
        }
        return values
    }

    /// The same for the one loop that is home to a bucket.
    func ask<Value: Sendable>(
        bucket: UInt16,
        _ work: @escaping @Sendable (Loop) -> Value
    ) throws(AdminFailure) -> Value {
        let reply = Reply<Value>()
        let mailbox = shared.mailboxes[Int(bucket) % shared.mailboxes.count]
        mailbox.post(.perform { reply.set(work($0)) })
        guard let value = reply.wait(milliseconds: Self.patienceMilliseconds) else { throw .unavailable }
        return value
    }

    /// Runs `work` on the loop that is home to a bucket and returns once its changes are durable. If they could not be
    /// made so, `undo` runs there and it is told: what an admin was told is done stays done.
    func change<Value: Sendable>(
        bucket: UInt16,
        undo: @escaping @Sendable (Loop, Value) -> Void,
        _ work: @escaping @Sendable (Loop) -> Value
    ) throws(AdminFailure) -> Value {
        let reply = Reply<Value?>()
        let mailbox = shared.mailboxes[Int(bucket) % shared.mailboxes.count]
        mailbox.post(
            .perform { loop in
                let value = work(loop)
                loop.whenDurable { loop, error in
                    if error != nil { undo(loop, value) }
                    reply.set(error == nil ? value : nil)
                }
            }
        )
        guard let answer = reply.wait(milliseconds: Self.patienceMilliseconds), let value = answer else {
            throw .unavailable
        }
        return value
    }

    /// Returns once `changes` are durable.
    func commit(_ changes: [StoreChange]) throws(AdminFailure) {
        let reply = Reply<Bool>()
        shared.store.submit(changes) { reply.set($0 == nil) }
        guard reply.wait(milliseconds: Self.patienceMilliseconds) == true else { throw .unavailable }
    }

    /// The payloads of stored pushes, by number, in that order; nil for one that is over.
    func payloads(_ numbers: [UInt64]) throws(AdminFailure) -> [[UInt8]?] {
        let reply = Reply<Result<[[UInt8]?], StoreError>>()
        shared.store.read(numbers) { reply.set($0) }
        guard case .success(let payloads) = reply.wait(milliseconds: Self.patienceMilliseconds) else {
            throw .unavailable
        }
        return payloads
    }

    /// Makes changes durable, then lets every loop know the new catalog before it returns.
    func update(
        _ decide: @Sendable (Catalog) throws(AdminFailure) -> (apps: [App], keys: [ProviderKey], changes: [StoreChange])
    ) throws(AdminFailure) {
        // Held over the commit: catalogs must become durable in the order in which loops see them.
        let outcome: Result<Void, AdminFailure> = change.withLock { _ in
            do throws(AdminFailure) {
                let current = currentCatalog
                let (apps, keys, changes) = try decide(current)
                try commit(changes)
                let new = Catalog(version: current.version + 1, apps: apps, keys: keys)
                catalog.withLock { $0 = new }
                _ = try ask { $0.catalog = new }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    /// Puts other settings and certificates in force.
    func replace(_ config: Config, _ identity: GatewayIdentity) {
        currentConfig.withLock { $0 = config }
        certificates.replace(identity.certificates)
        shared.addresses.setBounds(AddressBook.Bounds(config))
        let (contexts, authorities) = (identity.contexts, identity.certificates.authorities)
        for mailbox in shared.mailboxes { mailbox.post(.perform { $0.reload(config, contexts, authorities) }) }
    }

    /// Has the settings and files read again; returns when new connections use them.
    func reload() throws(AdminFailure) {
        let request = ReloadRequest()
        reloads.post(request)
        guard let mistake = request.wait(milliseconds: Self.patienceMilliseconds) else { throw .unavailable }
        if let mistake { throw .unusable(mistake) }
    }

    /// Why the gateway should not get traffic; empty when it should.
    var reasonsNotReady: [String] {
        var reasons: [String] = []
        if isStarting.value == 1 { reasons.append("starting") }
        if isDraining.value == 1 { reasons.append("draining") }
        if shared.store.statistics.isFailing { reasons.append("store") }
        return reasons
    }
}
