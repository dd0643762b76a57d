import PushCore
import Storage
import TestSupport
import Wire

@testable import Gateway

/// A home with one device that has one registration, the time it is told, and what it asked for in words.
struct HomeBench {
    let home: Home
    let metrics = Metrics()
    let device: DeviceState
    let registration: RegistrationState
    var now = Sample.now
    private(set) var link: SessionLink?
    private(set) var places = 0
    private var connections: UInt64 = 0

    static let app = App(bundle: "com.example.app", team: "DEMOTEAM01", broadcast: false)
    static let topic = Topic(app: app, suffix: nil)
    static let voip = Topic(app: app, suffix: ".voip")
    static let bucket: UInt16 = 0xabcd
    static let deviceID = DeviceID(UInt64(bucket) << 48 | 1)
    static let token = Sample.token(1, bucket: bucket)

    init(afterPush: UInt64 = 0, change: (inout Config) -> Void = { _ in }) {
        var config = Config()
        change(&config)
        let numbers = Numbers(afterPush: afterPush, afterRegistration: 100, loop: 0, of: 1)
        home = Home(config: config, metrics: metrics, numbers: numbers)
        home.restore(Sample.device(Self.deviceID.value))
        home.restore(Self.record(1), topic: Self.topic)
        guard let device = home.devices[Self.deviceID], let registration = home.registrations[Self.token] else {
            preconditionFailure("what was restored is there")
        }
        (self.device, self.registration) = (device, registration)
    }

    /// One whose device is connected and has enabled its topics.
    static func live(change: (inout Config) -> Void = { _ in }) throws -> HomeBench {
        var bench = HomeBench(change: change)
        try bench.connect()
        _ = bench.effects()
        return bench
    }

    static func record(
        _ number: UInt64,
        token: DeviceToken = token,
        device: DeviceID? = deviceID,
        topic: Topic = topic,
        state: Registration.State = .active
    ) -> Registration {
        Registration(
            number: number,
            token: token,
            device: device,
            topic: topic.name,
            createdAt: Sample.now,
            state: state,
            revokedAt: state == .active ? nil : Sample.now
        )
    }

    // MARK: Events

    /// Offers a push; its place in the connection counts up from 1.
    mutating func offer(
        to token: DeviceToken = token,
        topic: Topic = topic,
        collapseID: String = "",
        _ headers: [RequestField: String?] = [:]
    ) throws {
        places += 1
        let offer = PushOffer(
            token: token,
            topic: topic,
            request: try SampleRequest(headers).parsed(suffix: topic.suffix),
            apnsID: UUIDText(UniqueID(high: 1, low: 2)),
            uniqueID: UniqueID(high: 3, low: 4),
            content: PushContent(payload: Array("{}".utf8)[...], collapseID: Array(collapseID.utf8)[...]),
            reply: ReplyAddress(loop: 0, connection: 7, place: places)
        )
        home.offer(offer, at: now)
    }

    mutating func connect(awake: Bool = true, nonce: ConnectNonce? = nil) throws {
        connections += 1
        let link = SessionLink(connection: connections, connectedAt: now)
        _ = try home.openSession(
            Self.deviceID,
            link,
            isAwake: awake,
            nonce: nonce ?? ConnectNonce(made: now, random: connections)
        )
        self.link = link
        _ = home.filter(device, [Self.topic.hash: .enabled, Self.voip.hash: .enabled], at: now)
    }

    mutating func disconnect() {
        guard let link else { return }
        home.closeSession(device, link, at: now)
        self.link = nil
    }

    func acknowledge(_ number: UInt32, status: UInt8 = 0) {
        home.acknowledge(device, number, status: status, at: now)
    }

    /// Time passes, and what it makes due is done.
    mutating func pass(_ interval: Interval) {
        now = now + interval
        home.submitDelayed(at: now)
        home.tick(device, at: now)
    }

    /// A whole sweep, which a loop does a part at a time.
    func sweep(at now: Moment? = nil) {
        home.beginSweep(at: now ?? self.now)
        while home.holders.isSweeping { home.sweepPart(at: now ?? self.now) }
    }

    /// The store takes, or fails at, what was asked of it since the last time.
    @discardableResult
    func commit(_ error: StoreError? = nil) -> [String] {
        let (changes, pushes) = home.takeChanges()
        home.committed(pushes, error, at: now)
        return changes.map(\.words)
    }

    // MARK: What was asked for

    /// Answers first: no order binds them to the rest.
    func effects() -> [String] {
        defer { home.effects = [] }
        return answers() + home.effects.map(\.words)
    }

    func answers() -> [String] {
        defer { home.answers = [] }
        return home.answers.map { "answer \($0.reply.place) \($0.answer.words)" }
    }

    func changes() -> [String] { home.takeChanges().changes.map(\.words) }

    func events() -> [String] {
        defer { home.events = [] }
        return home.events.map { "\($0.state.rawValue) \($0.number)" }
    }
}

extension PushAnswer {
    /// As a test reads it: `429 TooManyRequests`.
    fileprivate var words: String {
        switch self {
        case .accepted: "200"
        case .refused(let rejection): "\(rejection.status) \(rejection.rawValue)"
        case .gone(let rejection, let since): "\(rejection.status) \(rejection.rawValue) \(since.seconds)"
        }
    }
}

extension HomeEffect {
    /// As a test reads it: `notify 3 over 1`.
    var words: String {
        switch self {
        case .notify(let connection, let notification): "notify \(notification.queued.number) over \(connection)"
        case .deadlineMoved(let link): "deadline of \(link.connection)"
        case .endSession(let link, let reason): "end \(link.connection): \(reason)"
        case .tokenGone(let link, let registration): "gone \(registration.record.number) over \(link.connection)"
        }
    }
}

extension StoreChange {
    /// As a test reads it: `append 3`, `save 101`.
    var words: String {
        switch self {
        case .append(let push): "append \(push.number)"
        case .discard(let number): "discard \(number)"
        case .save(let registration): "save \(registration.number)"
        case .forget(let registration): "forget \(registration)"
        case .saveDevice(let device): "save device \(device.id.value & 0xffff)"
        case .saveApp(let app): "save app \(app.bundle)"
        case .removeApp(let bundle): "remove app \(bundle)"
        case .saveKey(let key): "save key \(key.keyID)"
        }
    }
}
