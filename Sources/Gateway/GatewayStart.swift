import JSON
import PushCore
import Reactor
import Storage
import TLS

/// The certificates an instance runs with, parsed and judged.
struct GatewayIdentity {
    let contexts: TLSContexts
    let certificates: Certificates.InForce

    init(_ files: InstanceFiles, _ config: Config, loops: Int, at now: Moment) throws(StartError) {
        do throws(TLSError) {
            contexts = try TLSContexts(files, config, loops: loops)
            certificates = Certificates.InForce(
                server: try Certificate(pem: files.certificatePEM),
                authority: try CertificateAuthority(
                    certificatePEM: files.caCertificatePEM,
                    keyPEM: files.caKeyPEM
                ),
                authorities: try Certificate.all(pem: files.caCertificatePEM)
            )
        } catch {
            throw StartError("tls.certificate, tls.key or tls.ca cannot be used: \(error)")
        }
        let ends: [(StaticString, StaticString, Int64)] = [
            ("tls.certificate", "renew", certificates.server.notAfter),
            ("tls.ca", "roll-over", certificates.authority.certificate.notAfter),
        ]
        for (name, command, end) in ends where end <= now.seconds {
            let time = timestamp(Moment(seconds: end))
            throw StartError("\(name) expired at \(time); make a new one: carillon certificate \(command)")
        }
    }
}

/// Every listening socket, one per loop and port.
struct GatewaySockets {
    private(set) var providerPorts: [UInt16] = []
    private(set) var channelPorts: [UInt16] = []
    private(set) var devicePorts: [UInt16] = []
    private(set) var listeners: [[LoopListener]]

    init(_ config: Config, loops: Int) throws(StartError) {
        listeners = Array(repeating: [], count: loops)
        for port in config.providerPorts {
            providerPorts.append(try listen(config.providerHost, port, .provider, setting: "provider.port"))
        }
        let channels = try listen(
            config.channelsHost,
            config.effectiveChannelsPort,
            .channels,
            setting: "channels.port"
        )
        channelPorts.append(channels)
        for port in config.devicePorts {
            devicePorts.append(try listen(config.deviceHost, port, .device, setting: "device.port"))
        }
    }

    /// Listens with one socket per loop, all on the port the first one got.
    private mutating func listen(
        _ host: String,
        _ wanted: UInt16,
        _ door: LoopListener.Door,
        setting: StaticString
    ) throws(StartError) -> UInt16 {
        var port = wanted
        for loop in listeners.indices {
            do throws(SystemError) {
                let listener = try Listener(
                    host: host,
                    port: port,
                    exclusiveProbe: loop == 0,
                    options: Listener.Options(patience: patience(at: door))
                )
                port = listener.port
                listeners[loop].append(LoopListener(listener, door))
            } catch {
                let advice =
                    error.isAddressInUse ? "another program uses it; set \(setting) to a free port" : "see \(setting)"
                throw StartError("cannot listen on \(host):\(wanted): \(error); \(advice)")
            }
        }
        return port
    }
}

/// How long the kernel waits for peers that came by a door.
private func patience(at door: LoopListener.Door) -> Listener.Patience {
    let (idle, interval, probes) = door == .device ? Limits.devicePatience : Limits.providerPatience
    return Listener.Patience(idle: Int32(idle), interval: Int32(interval), probes: Int32(probes))
}

/// Opens the store and reads all of it; a new one takes the seed.
func openStore(
    _ files: InstanceFiles,
    at now: Moment
) throws(StartError) -> (store: any MessageStore, snapshot: StoreSnapshot) {
    do throws(StoreError) {
        let store: any MessageStore
        if let path = files.storePath { store = try SQLiteStore(path: path) } else { store = MemoryStore() }
        var snapshot = try store.load(at: now)
        if snapshot.isNew, let seed = files.seed {
            try store.commit(try parseSeed(seed, at: now))
            snapshot = try store.load(at: now)
        }
        return (store, snapshot)
    } catch {
        throw StartError(error.startDescription)
    }
}

/// Tells of a store that is not what an operator expects.
func tell(of snapshot: StoreSnapshot, _ files: InstanceFiles, _ log: Log) {
    guard let path = files.storePath else { return log.warning("the store is memory: nothing outlives this process") }
    // What `init` leaves for the first start is in the store by now.
    if snapshot.isNew { log.warning("a new store was begun", LogField("file", path)) }
}

func openDeliveryLog(_ config: Config, path: String?, _ log: Log) throws(StartError) -> DeliveryLog? {
    guard config.effectiveLogDeliveries != .off else { return nil }
    do throws(StoreError) {
        return try DeliveryLog(path: path, keep: config.logKeep, rows: config.logRows) { error, aside in
            log.warning("the delivery log was put aside", LogField("error", error), LogField("now", aside))
        }
    } catch {
        throw StartError(error.startDescription)
    }
}

/// What `carillon init` left for the first start: the demo app and key.
private func parseSeed(_ bytes: [UInt8], at now: Moment) throws(StoreError) -> [StoreChange] {
    // A seed that does not parse was edited by hand; the gateway starts empty rather than not at all.
    guard let seed = try? JSONValue(parsing: bytes.span) else { return [] }
    var changes: [StoreChange] = []
    for app in seed["apps"]?.array ?? [] {
        guard let bundle = app["bundle"]?.string, let team = app["team"]?.string else { continue }
        changes.append(.saveApp(App(bundle: bundle, team: team, broadcast: app["broadcast"]?.bool ?? false)))
    }
    for key in seed["keys"]?.array ?? [] {
        // The same holds for a key that was spoilt.
        guard let keyID = key["keyID"]?.string, let team = key["team"]?.string,
            let pem = key["publicKey"]?.string, let publicKey = try? PublicKey(pem: Array(pem.utf8))
        else { continue }
        let record = ProviderKey(
            keyID: keyID,
            team: team,
            environment: key["environment"]?.string.flatMap(ProviderKey.Scope.init) ?? .all,
            topics: (key["topics"]?.array ?? []).compactMap(\.string),
            publicKey: publicKey.spki,
            createdAt: now,
            revokedAt: nil
        )
        changes.append(.saveKey(record))
    }
    return changes
}

extension GatewaySockets {
    /// Starts one thread per loop, each with its sockets and its share of what the store kept.
    func startLoops(
        _ shared: LoopShared,
        _ snapshot: StoreSnapshot,
        _ catalog: Catalog,
        _ contexts: TLSContexts
    ) throws(StartError) -> [Worker] {
        var workers: [Worker] = []
        let shares = HomeShare.split(snapshot, loops: shared.mailboxes.count)
        for (index, share) in shares.enumerated() {
            let listeners = listeners[index]
            do throws(SystemError) {
                let worker = try Worker(name: "loop-\(index)") {
                    let home = makeHome(share, shared, catalog, index)
                    let start = LoopStart(home: home, catalog: catalog, contexts: contexts, listeners: listeners)
                    do throws(SystemError) {
                        try Loop(index: index, shared: shared, start: start).run()
                    } catch {
                        shared.log.error("event loop cannot start", LogField("error", error))
                    }
                }
                workers.append(worker)
            } catch {
                throw StartError("cannot start an event loop: \(error)")
            }
        }
        return workers
    }
}

/// What one loop is home to.
struct HomeShare: Sendable {
    var devices: [Device] = []
    var registrations: [Registration] = []
    var pushes: [Push] = []
    /// Tokens that look like this loop's but belong to a device of another.
    var elsewhere: [(token: DeviceToken, bucket: UInt16)] = []
    var lastPush: UInt64 = 0
    var lastRegistration: UInt64 = 0

    static func split(_ snapshot: StoreSnapshot, loops: Int) -> [HomeShare] {
        var empty = HomeShare()
        empty.lastPush = snapshot.lastPushNumber
        empty.lastRegistration = snapshot.lastRegistrationNumber
        var shares = Array(repeating: empty, count: loops)
        for device in snapshot.devices { shares[Int(device.id.bucket) % loops].devices.append(device) }
        var homes: [UInt64: Int] = [:]
        for registration in snapshot.registrations {
            let bucket = registration.device?.bucket ?? registration.token.bucket
            let home = Int(bucket) % loops
            shares[home].registrations.append(registration)
            homes[registration.number] = home
            let apparent = Int(registration.token.bucket) % loops
            if apparent != home { shares[apparent].elsewhere.append((registration.token, bucket)) }
        }
        if loops == 1 {
            // All of a million need not be copied to be given to one.
            shares[0].pushes = snapshot.pushes
        } else {
            for push in snapshot.pushes {
                if let home = homes[push.registration] { shares[home].pushes.append(push) }
            }
        }
        return shares
    }
}

/// What a loop begins with: its share of what the store kept.
func makeHome(_ share: HomeShare, _ shared: LoopShared, _ catalog: Catalog, _ index: Int) -> Home {
    let numbers = Numbers(
        afterPush: share.lastPush,
        afterRegistration: share.lastRegistration,
        loop: index,
        of: shared.mailboxes.count
    )
    let home = Home(config: shared.config, metrics: shared.metrics, numbers: numbers)
    home.restore(share, catalog)
    return home
}

extension Home {
    /// Takes all that the store kept for it.
    func restore(_ share: HomeShare, _ catalog: Catalog) {
        for device in share.devices { restore(device) }
        var byNumber: [UInt64: RegistrationState] = [:]
        for registration in share.registrations {
            restore(registration, topic: catalog.topicsByName[registration.topic])
            byNumber[registration.number] = registrations[registration.token]
        }
        for push in share.pushes {
            if let registration = byNumber[push.registration] { restore(push, for: registration) }
        }
        for (token, bucket) in share.elsewhere { elsewhere[token] = bucket }
    }
}
