import Gateway
import HTTP2
import PushCore
import Reactor
import Storage
import TLS
import TestSupport
import Wire

/// A gateway, its disk, its devices and providers, and the network between them, in one thread: what happens, and when,
/// comes from one generator.
final class World {
    /// Whose link it is.
    enum Owner {
        case device(Int)
        case provider(Int)
        case nobody
    }

    let identity: Identity
    private(set) var circumstances: Circumstances
    private let change: (inout Config) -> Void
    let clock = GatewayClock(standingAt: World.start)
    let disk = SimulatedDisk()
    var random: SeededRandom
    var gateway: HandTurnedGateway
    var model: Model
    var trace = Trace()
    let devices: [SimulatedDevice]
    let providers: [SimulatedProvider]
    var step = 0
    /// Store turns that are left out, because the disk is slow.
    var heldStoreTurns = 0
    /// Links that nobody reads or writes any more.
    private var zombies: [Link] = []
    private var owners: [UInt64: Owner] = [:]
    private var poller: Poller
    private let transport = TLSTransport()
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    private var lastToken: UInt64 = 0

    /// Bytes that the kernel keeps of what a device does not read: few, so that the gateway has to keep the rest.
    private static let socketBuffer: Int32 = 16 * 1024
    private static let providerCount = 3
    private static let start = Moment(seconds: 2_500_000_000)

    /// `change` has the last word on the settings.
    init(seed: UInt64, identity: Identity, change: @escaping (inout Config) -> Void) throws {
        self.identity = identity
        self.change = change
        random = SeededRandom(seed: seed)
        circumstances = Circumstances(&random, change)
        devices = identity.devices.enumerated().map { SimulatedDevice(index: $0, credentials: $1) }
        providers = (0..<Self.providerCount).map { _ in SimulatedProvider() }
        model = Model(policy: circumstances.config.queuePolicy, devices: identity.devices.map(\.id))
        poller = try Poller()
        try disk.commit(Self.beginnings(identity)).get()
        _ = disk.takeWritten()
        gateway = try HandTurnedGateway(
            config: circumstances.config,
            files: identity.files,
            store: SimulatedStore(disk),
            clock: clock
        )
    }

    /// Apps, the provider's key and devices: an operator made them before.
    private static func beginnings(_ identity: Identity) -> [StoreChange] {
        let apps = SimulatedTopics.bundles.map {
            StoreChange.saveApp(App(bundle: $0, team: Identity.team, broadcast: false))
        }
        let before = Self.start - .days(1000)
        let key = ProviderKey(
            keyID: Identity.keyID,
            team: Identity.team,
            environment: .all,
            topics: [],
            publicKey: identity.providerKey.publicKey.spki,
            createdAt: before,
            revokedAt: nil
        )
        let devices = identity.devices.map { credentials in
            StoreChange.saveDevice(
                Sample.device(credentials.id.value, baseToken: Sample.token(7, bucket: credentials.id.bucket))
            )
        }
        return apps + [.saveKey(key)] + devices
    }

    /// Everything has come to its end: the gateway starts again under other circumstances.
    func beginChapter() throws {
        circumstances = Circumstances(&random, change)
        model = Model(policy: circumstances.config.queuePolicy, devices: model.devices)
        try restart(losingLast: true)
    }

    var now: Moment { clock.now() }

    func note(_ what: StaticString, _ device: Int = -1, _ first: Int = 0, _ second: Int = 0) {
        trace.add(
            Trace.Entry(
                step: step,
                milliseconds: now.milliseconds - Self.start.milliseconds,
                device: device,
                what: what,
                first: first,
                second: second
            )
        )
    }

    // MARK: A step

    /// One thing happens, then everything goes on a little.
    func takeStep() throws {
        step += 1
        try act(circumstances.next(&random))
        if random.once(in: 2) { clock.advance(by: .milliseconds(Int64.random(in: 0...4, using: &random))) }
        deliver()
        try turn()
        try look()
        if step % 512 == 0 { try model.checkAll(gateway) }
    }

    /// The network delivers what is on the wire, all of it, a part, or nothing yet.
    private func deliver() {
        for link in devices.lazy.compactMap(\.link) + providers.compactMap(\.link) where link.waitingCount > 0 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: break
            case 1: link.deliver(allBut: Int.random(in: 1...16, using: &random))
            default: link.deliver()
            }
        }
    }

    private func turn() throws {
        let loops = circumstances.config.threads
        let first = Int.random(in: 0..<loops, using: &random)
        for place in 0..<loops where !random.once(in: 8) { try turn((first + place) % loops) }
        if heldStoreTurns > 0 { heldStoreTurns -= 1 } else if !random.once(in: 4) { try turnStore() }
    }

    func turn(_ loop: Int) throws {
        try gateway.turn(loop)
        let events = gateway.events
        gateway.events = []
        try happened(events)
        for device in devices where gateway.loop(of: device.credentials.id) == loop {
            try model.check(device.index, isQuiet: device.link?.saysControl != true, at: now, gateway)
            if let link = device.link, link.waitingCount == 0 { link.saysControl = false }
        }
    }

    private func happened(_ events: [DeliveryEvent]) throws {
        defer {
            for event in events {
                if let push = model[event.number] { note(event.state.word, push.device, push.serial) }
            }
        }
        try model.happened(events, at: now)
    }

    func turnStore() throws {
        let failures = disk.failures
        gateway.turnStore()
        try model.written(disk.takeWritten(), at: now)
        if disk.failures > failures { model.storeFailed(at: now) }
        try model.storeTurned(at: now)
    }

    // MARK: What comes from the gateway

    /// Reads everything that the gateway has said.
    func look() throws {
        let count = try poller.wait(milliseconds: 0)
        for place in 0..<count {
            let event = poller.event(place)
            switch owners[event.token] {
            case .device(let device): try look(at: devices[device], event)
            case .provider(let provider): try look(at: providers[provider], event)
            case .nobody, nil:
                if event.isHungUp { zombies.removeAll { $0.token == event.token } }
            }
        }
    }

    private func look(at device: SimulatedDevice, _ event: Poller.Event) throws {
        guard let link = device.link, link.token == event.token else { return }
        if link.isDeaf {
            if event.isHungUp { drop(device) }
            return
        }
        switch link.read(using: &buffer) {
        case .nothing: return
        case .ended: drop(device)
        case .plain(let count):
            if link.isEstablished {
                try device.connect(
                    isAwake: !random.once(in: 4),
                    nonce: ConnectNonce(made: now, random: random.next())
                )
            }
            guard let messages = device.receive(link.plain(count)) else {
                throw Complaint("the gateway broke the device protocol", device: device.index)
            }
            for message in messages { try hear(message, device) }
        }
    }

    private func look(at provider: SimulatedProvider, _ event: Poller.Event) throws {
        guard let link = provider.link, link.token == event.token else { return }
        switch link.read(using: &buffer) {
        case .nothing: return
        case .ended: try provider.use(nil)
        case .plain(let count):
            provider.greet()
            guard let answers = provider.receive(link.plain(count)) else {
                throw Complaint("the gateway broke HTTP/2")
            }
            for answer in answers { try hear(answer) }
        }
    }

    private func hear(_ answer: SimulatedProvider.Answer) throws(Complaint) {
        let push = model.pushes[answer.serial]
        note("answer", push.device, answer.serial, answer.status)
        // Its token has grown too old on the way.
        if answer.status == 403, now - answer.signedAt > .seconds(3000) { return }
        try model.answered(answer.serial, answer.status)
        // The token is dead; the device may ask for another one.
        if answer.status == 410 { devices[push.device].tokens[push.topic] = nil }
    }

    // MARK: Connections

    func connect(_ device: SimulatedDevice) throws {
        let context = device.isExtended ? identity.extendedContext : identity.plainContext
        // Now and then by a loop that is not its home, which then hands it over.
        let loops = circumstances.config.threads
        let loop = random.once(in: 2) ? gateway.loop(of: device) : Int.random(in: 0..<loops, using: &random)
        device.use(try open(.device, .device(device.index), (context, transport, device.ticket), on: loop))
        note("connect", device.index)
    }

    func connect(_ place: Int) throws {
        let loop = Int.random(in: 0..<circumstances.config.threads, using: &random)
        let secured: (TLSContext, TLSTransport, TLSTicket?) = (identity.providerContext, transport, nil)
        try providers[place].use(try open(.provider, .provider(place), secured, on: loop))
        note("provider", -1, place)
    }

    private func open(
        _ door: HandTurnedGateway.Door,
        _ owner: Owner,
        _ secured: (TLSContext, TLSTransport, TLSTicket?),
        on loop: Int
    ) throws -> Link {
        let pair = try FileDescriptor.pair(buffer: Self.socketBuffer)
        lastToken += 1
        let near = FileDescriptor(owning: pair.first)
        let link = try Link(lastToken, socket: FileDescriptor(owning: pair.second), secured: secured)
        try poller.add(link.number, token: lastToken, for: .read)
        owners[lastToken] = owner
        gateway.open(near, door, on: loop)
        return link
    }

    /// A device's link is gone.
    func drop(_ device: SimulatedDevice) {
        if let link = device.link { owners[link.token] = nil }
        note("gone", device.index)
        device.use(nil)
    }

    /// A device has left without a word: the gateway is not told.
    func abandon(_ device: SimulatedDevice) throws {
        guard let link = device.link else { return }
        link.isDeaf = true
        try poller.change(link.number, token: link.token, for: [])
        owners[link.token] = .nobody
        zombies.append(link)
        if zombies.count > 16 { zombies.removeFirst() }
        note("abandoned", device.index)
        device.use(nil)
    }

    /// A device stops reading, or reads again.
    func deafen(_ device: SimulatedDevice, _ on: Bool) throws {
        guard let link = device.link, link.isDeaf != on else { return }
        link.isDeaf = on
        try poller.change(link.number, token: link.token, for: on ? [] : .read)
        note("deaf", device.index, on ? 1 : 0)
    }

    /// The process is gone, and another takes its place with what the disk has.
    func restart(losingLast: Bool) throws {
        for device in devices { device.use(nil) }
        for provider in providers { try provider.use(nil) }
        (zombies, owners, heldStoreTurns) = ([], [:], 0)
        disk.fail(next: 0)
        if !losingLast { gateway.turnStore() }
        try model.written(disk.takeWritten(), at: now)
        model.crashed()
        gateway = try HandTurnedGateway(
            config: circumstances.config,
            files: identity.files,
            store: SimulatedStore(disk),
            clock: clock
        )
        note("restarted")
        let events = gateway.events
        gateway.events = []
        try happened(events)
        try model.restarted(at: now, gateway, disk)
    }
}

extension HandTurnedGateway {
    func loop(of device: SimulatedDevice) -> Int { loop(of: device.credentials.id) }
}

extension DeliveryState {
    /// As the trace says it.
    fileprivate var word: StaticString {
        switch self {
        case .received: "received"
        case .delivered: "delivered"
        case .deliveredFromStorage: "delivered from storage"
        case .storedOffline: "stored offline"
        case .storedPower: "stored for power"
        case .discardedUnregistered, .discardedUnregisteredFromStorage: "discarded, unregistered"
        case .discardedExpired: "discarded, expired"
        case .discardedDisabled, .discardedDisabledFromStorage: "discarded, disabled"
        case .discardedReplaced: "discarded, replaced"
        case .discardedUndeliverable: "discarded, undeliverable"
        }
    }
}
