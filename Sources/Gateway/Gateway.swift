import Admin
import PushCore
package import Reactor
import Storage
import TLS

/// The bytes of an instance's files; the gateway itself opens none but the store.
package struct InstanceFiles: Sendable {
    /// The server's certificate chain.
    package var certificatePEM: [UInt8]
    /// The server's private key.
    package var keyPEM: [UInt8]
    /// The authority that signs devices.
    package var caCertificatePEM: [UInt8]
    /// The authority's private key.
    package var caKeyPEM: [UInt8]
    /// What admits to the admin API now; asked for each request.
    package var adminTokens: @Sendable () -> AdminTokens
    /// Where the database lies; nil keeps everything in memory.
    package var storePath: String?
    /// Where the delivery log lies; nil keeps it in memory.
    package var deliveryLogPath: String?
    /// The demo app and key that `carillon init` made, taken by a store that is new; JSON.
    package var seed: [UInt8]?

    package init(
        certificatePEM: [UInt8],
        keyPEM: [UInt8],
        caCertificatePEM: [UInt8],
        caKeyPEM: [UInt8],
        adminTokens: @escaping @Sendable () -> AdminTokens,
        storePath: String? = nil,
        deliveryLogPath: String? = nil,
        seed: [UInt8]? = nil
    ) {
        self.certificatePEM = certificatePEM
        self.keyPEM = keyPEM
        self.caCertificatePEM = caCertificatePEM
        self.caKeyPEM = caKeyPEM
        self.adminTokens = adminTokens
        self.storePath = storePath
        self.deliveryLogPath = deliveryLogPath
        self.seed = seed
    }
}

/// Why a gateway does not start: one line that says what was wrong, where, and what to do.
package struct StartError: Error, Equatable, CustomStringConvertible {
    /// The line.
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A running gateway: its loops, its store, its admin server. Make it, wait for a signal, stop it.
package final class Gateway {
    /// Where it listens, with the real ports.
    package struct Addresses: Sendable {
        /// Where providers connect, one address per port.
        package let provider: [String]
        /// Where channels are managed.
        package let channels: [String]
        /// Where devices connect, one address per port.
        package let device: [String]
        /// The admin API, as a URL.
        package let admin: String

        init(_ config: Config, _ sockets: GatewaySockets, adminPort: UInt16) {
            provider = sockets.providerPorts.map { address(config.providerHost, $0) }
            channels = sockets.channelPorts.map { address(config.channelsHost, $0) }
            device = sockets.devicePorts.map { address(config.deviceHost, $0) }
            admin = "\(config.adminTLS ? "https" : "http")://\(address(config.adminHost, adminPort))"
        }
    }

    /// Where it listens, with the real ports.
    package let addresses: Addresses
    private let control: Control
    private let workers: [Worker]
    private let admin: AdminServer
    /// Reloads that the admin API asks for: watch it, do each as for SIGHUP, and answer it.
    package let reloads: Mailbox<ReloadRequest>

    /// Opens the store, listens on every port, and returns when everything is ready. `path` of the store is resolved.
    package init(config: Config, files: InstanceFiles, testHooks: Bool, log: Log, clock: GatewayClock)
        throws(StartError)
    {
        guard files.adminTokens().admitsOperators else {
            throw StartError("admin.token holds no secret; type: carillon admin rotate-token")
        }
        Machine.raiseOpenFileLimit()
        try OpenFiles(config).check(log)
        let count = config.threads > 0 ? config.threads : Machine.cores
        let identity = try GatewayIdentity(files, config, loops: count, at: clock.now())
        // What fails most often comes first, before there are threads to end.
        let sockets = try GatewaySockets(config, loops: count)
        let (store, snapshot) = try openStore(files, at: clock.now())
        let deliveries = try openDeliveryLog(config, path: files.deliveryLogPath, log)
        let metrics = Metrics()
        let storeThread: StoreThread
        let mailboxes: [Mailbox<LoopMessage>]
        do throws(SystemError) {
            storeThread = try StoreThread(store: store, hooks: storeHooks(log))
            mailboxes = try makeMailboxes(count)
            reloads = try Mailbox()
        } catch {
            throw StartError("cannot start threads: \(error)")
        }
        let shared = LoopShared(
            config: config,
            metrics: metrics,
            log: log,
            clock: clock,
            store: storeThread,
            deliveries: deliveries,
            mailboxes: mailboxes,
            certificates: Certificates(identity.certificates),
            answers: AnswerHook(),
            rates: Rates(metrics),
            addresses: AddressBook(AddressBook.Bounds(config))
        )
        let catalog = Catalog(version: 1, apps: snapshot.apps, keys: snapshot.keys)
        let control = Control(
            shared: shared,
            catalog: catalog,
            reloads: reloads,
            backups: files.storePath.map(Backups.init),
            hasTestHooks: testHooks
        )
        self.control = control
        do throws(StartError) {
            admin = try startAdmin(config, files, AdminRoutes(control: control, tokens: files.adminTokens))
            workers = try sockets.startLoops(shared, snapshot, catalog, identity.contexts)
        } catch {
            // The process is about to end, and must not end under a running thread.
            storeThread.stop()
            deliveries?.stop()
            throw error
        }
        addresses = Addresses(config, sockets, adminPort: admin.port)
        tell(of: snapshot, files, log)
        control.isStarting.set(0)
    }

    /// Takes new settings and files; everyone who is connected stays. Nothing changes if a file is broken. Returns the
    /// names of the settings that differ and wait for a restart.
    package func reload(_ new: Config, _ files: InstanceFiles) throws(StartError) -> [String] {
        let shared = control.shared
        let (config, waiting) = control.config.reloaded(with: new)
        try OpenFiles(config).check(shared.log)
        let loops = shared.mailboxes.count
        let identity = try GatewayIdentity(files, config, loops: loops, at: shared.clock.now())
        control.replace(config, identity)
        shared.log.setLevel(config.logLevel)
        return waiting
    }

    /// Counts how a reload ended, whoever noticed it.
    package func reloaded(_ isGood: Bool) {
        (isGood ? control.shared.metrics.goodReloads : control.shared.metrics.failedReloads).add(1)
    }

    /// What tells whether all of it is alive.
    package var pulse: GatewayPulse { GatewayPulse(control.shared) }

    /// Begins to say goodbye to everyone, on a thread of its own, which calls `done` when that is over.
    package func drain(done: @escaping @Sendable () -> Void) throws(StartError) {
        let control = control
        do throws(SystemError) {
            _ = try Worker(name: "drain") {
                control.drain()
                done()
            }
        } catch {
            throw StartError("cannot start a thread: \(error)")
        }
    }

    /// Does what is left of a drain at once.
    package func hurry() { control.isHurried.set(1) }

    /// Writes what waits, and ends every thread, after a drain.
    package func stop() {
        for mailbox in control.shared.mailboxes { mailbox.post(.stop) }
        for worker in workers { worker.join() }
        admin.stop()
        control.backups?.stop()
        control.shared.store.stop()
        control.shared.deliveries?.stop()
    }
}

/// `127.0.0.1` stands for "all addresses" in what is told to people: it is one that works here.
private func address(_ host: String, _ port: UInt16) -> String {
    let name = host == "*" ? "127.0.0.1" : host
    return name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)"
}

private func makeMailboxes(_ count: Int) throws(SystemError) -> [Mailbox<LoopMessage>] {
    var mailboxes: [Mailbox<LoopMessage>] = []
    for _ in 0..<count { mailboxes.append(try Mailbox()) }
    return mailboxes
}

private func storeHooks(_ log: Log) -> StoreHooks {
    StoreHooks(
        failed: { log.error("store cannot write", LogField("error", $0)) },
        recovered: { log.info("store writes again") }
    )
}

private func startAdmin(_ config: Config, _ files: InstanceFiles, _ routes: AdminRoutes) throws(StartError)
    -> AdminServer
{
    do throws(AdminError) {
        return try AdminServer(
            host: config.adminHost,
            port: config.adminPort,
            tls: config.adminTLS ? (files.certificatePEM, files.keyPEM) : nil
        ) { routes.respond(to: $0) }
    } catch {
        throw StartError("\(error); set admin.port to a free one")
    }
}
