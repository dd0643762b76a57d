import HTTP2
import JSON
import PushCore
import Reactor
import Storage
import TLS

/// What all loops of a gateway share: values and things that are safe to share.
struct LoopShared: Sendable {
    /// The settings of the start; what a reload takes is in `Loop.config` and `Control.config`.
    let config: Config
    let metrics: Metrics
    let log: Log
    let clock: GatewayClock
    let store: StoreThread
    let deliveries: DeliveryLog?
    let mailboxes: [Mailbox<LoopMessage>]
    let certificates: Certificates
    let answers: AnswerHook
    let rates: Rates
    let addresses: AddressBook
}

/// What a loop begins with: made on the thread that starts the gateway, owned by the loop's.
struct LoopStart {
    let home: Home
    let catalog: Catalog
    let contexts: TLSContexts
    let listeners: [LoopListener]
}

/// One thread: its poller, its connections, its home. Made and run on that thread, so no other thread can name it.
final class Loop {
    let index: Int
    let shared: LoopShared
    let buffers = LoopBuffers()
    let home: Home
    var connections = ConnectionTable()
    /// The settings in force.
    private(set) var config: Config
    var catalog: Catalog
    var contexts: TLSContexts
    var verifier: ProviderTokenVerifier
    /// For lines about what is odd: a provider repeats its mistakes with each request.
    var lintLines: [ProviderLint: LogPace] = [:]
    var proof: DeviceProof
    let judge = PayloadJudge()
    let answer = HTTP2Answer()
    let fields = HTTP2Fields(RequestField.allCases.map(\.name))
    let memory = HTTP2Memory()
    let bodies = AnswerBodies()
    var requests: [HTTP2Request] = []
    var random: RandomIDs
    var now: Moment
    var poller: Poller
    var deadlines = Deadlines()
    var dirty: [UInt64] = []
    var dirtyDevices: [UInt64] = []
    /// Requests this turn has taken in.
    var turnRequests = 0
    private var gathering = Gathering()
    private var lookout = Lookout()
    var outbox: [[LoopMessage]]
    var listeners: [LoopListener]
    var isRefusing = false
    /// The end of a drain: what is asked now is refused, for nobody would hear of it.
    var isClosing = false
    /// Devices that a drain has not said goodbye to.
    var farewells: [UInt64] = []
    /// Listeners that are not watched because a bound is reached.
    var pausedListeners: Set<Int> = []
    /// Who is not in yet, at the door of providers and at that of devices.
    var doorways: [Doorway]
    var handshakes = HandshakeQueue()
    /// When it may ask other loops next to make room for its connections.
    var nextAppeal = Moment(nanoseconds: 0)
    /// For lines about abuse, of which there may be very many.
    var abuseLines = LogPace(every: Limits.abuseLogInterval)
    /// For lines about what a load balancer does wrong.
    var proxyLines = LogPace(every: Limits.proxyLogInterval)
    private var mail: [LoopMessage] = []
    private var batches: [UInt64: [PushAddress]] = [:]
    /// Pushes whose payloads are being read, by batch.
    var reads: [UInt64: [PushAddress]] = [:]
    /// What batches say of devices and registrations, and what is to be said again because it could not be written.
    private var records: [UInt64: [StoreChange]] = [:]
    private var unwritten: [StoreChange] = []
    private var onDurable: [UInt64: [(Loop, StoreError?) -> Void]] = [:]
    private var waitingForBatch: [(Loop, StoreError?) -> Void] = []
    private var lastBatch: UInt64 = 0
    private var nextSweep: Moment
    private var nextSample = Moment(nanoseconds: 0)
    private var isStopped = false
    /// Sees what happens to pushes while no delivery log does: for simulations.
    var witness: (([DeliveryEvent]) -> Void)?

    static let mailboxToken: UInt64 = 0

    init(index: Int, shared: LoopShared, start: LoopStart) throws(SystemError) {
        self.index = index
        self.shared = shared
        home = start.home
        catalog = start.catalog
        contexts = start.contexts
        config = shared.config
        verifier = ProviderTokenVerifier(environment: config.environment, reason: config.providerEnvironmentKeyReason)
        proof = DeviceProof(authorities: shared.certificates.current.authorities, config: config)
        now = shared.clock.now()
        nextSweep = now + Limits.sweepInterval
        random = RandomIDs()
        doorways = Array(repeating: Doorway(placeLimit: config.limitsHandshakes), count: 2)
        outbox = Array(repeating: [], count: shared.mailboxes.count)
        poller = try Poller()
        listeners = start.listeners
        try poller.add(shared.mailboxes[index].number, token: Self.mailboxToken, for: .read)
        for (place, listener) in listeners.enumerated() {
            try poller.add(listener.socket.number, token: UInt64(place + 1), for: .read)
        }
    }

    /// Turns until it is told to stop.
    func run() {
        while !isStopped {
            do throws(SystemError) {
                try turn()
            } catch {
                shared.log.error("event loop failed", LogField("error", error))
                return
            }
        }
    }

    private func turn() throws(SystemError) { turn(of: try wait()) }

    /// A turn with what is there, without waiting for more: for who drives a loop without a thread.
    func turnAtOnce() throws(SystemError) { turn(of: try poller.wait(milliseconds: 0)) }

    /// A turn in which so many events have come.
    private func turn(of count: Int) {
        lookAtClock()
        for place in 0..<count {
            let event = poller.event(place)
            switch event.token {
            case Self.mailboxToken: takeMail()
            case ..<ConnectionTable.firstToken: accept(from: Int(event.token) - 1)
            default: serve(event)
            }
        }
        expire()
        finish()
        goOnWithHandshakes()
        let spent = shared.clock.now() - now
        if spent.nanoseconds > Int64(shared.metrics.longestTurnNanoseconds.value) {
            shared.metrics.longestTurnNanoseconds.set(Int(spent.nanoseconds))
        }
    }

    /// Waits for events. A loop that is not loaded looks for them a moment longer before it sleeps, as long as that
    /// pays (docs/decisions/0019-looking-before-sleeping.md).
    private func wait() throws(SystemError) -> Int {
        let milliseconds = timeout
        // When the requests of a loaded loop are done it may sleep, for more come together.
        if milliseconds != 0, !gathering.isLoaded, lookout.shouldLook() {
            let end = Clock.monotonic() + Limits.lookBeforeSleep.nanoseconds
            var count = 0
            repeat { count = try poller.wait(milliseconds: 0) } while count == 0 && Clock.monotonic() < end
            lookout.looked(found: count > 0)
            if count > 0 { return count }
        }
        return try poller.wait(milliseconds: milliseconds)
    }

    /// Until the next deadline, at most a second, so that a clock that is set does not strand anything.
    private var timeout: Int32 {
        var next = deadlines.next.map { Moment(nanoseconds: $0) } ?? .distantFuture
        if let delayed = home.nextDelayed { next = min(next, delayed) }
        // What came up while the last turn was being written must not wait for an event.
        if gathering.isWaiting || !dirty.isEmpty || !dirtyDevices.isEmpty || home.hasWork { return 0 }
        // Nor must a sweep, nor handshakes, nor devices that have just been proved and live on other loops.
        if home.holders.isSweeping || !handshakes.isEmpty || outbox.contains(where: { !$0.isEmpty }) { return 0 }
        let wait = (next - shared.clock.now()).nanoseconds
        return Int32(min(max((wait + 999_999) / 1_000_000, 0), Limits.sleepMilliseconds))
    }

    /// Goes on with other settings and files. Who is connected stays; timers that run keep their time.
    func reload(_ config: Config, _ contexts: TLSContexts, _ authorities: [Certificate]) {
        self.config = config
        self.contexts = contexts
        home.config = config
        // What it remembers of certificates was judged by the old authorities and bounds.
        proof = DeviceProof(authorities: authorities, config: config)
        for doorway in doorways.indices { doorways[doorway].placeLimit = config.limitsHandshakes }
        resumeListeners()
    }

    // MARK: Mail

    private func takeMail() {
        shared.mailboxes[index].take(into: &mail)
        var taken: [LoopMessage] = []
        swap(&taken, &mail)
        for message in taken { receive(message) }
        taken.removeAll(keepingCapacity: true)
        swap(&taken, &mail)
    }

    private func receive(_ message: LoopMessage) {
        switch message {
        case .push(let offer): receive(offer)
        case .answer(let verdict, let address): deliver(verdict, to: address)
        case .device(let device): adopt(device)
        case .committed(let batch, let error): committed(batch, error)
        case .loaded(let batch, let payloads): loaded(batch, payloads)
        case .perform(let work): work(self)
        case .drain(let step): drain(step)
        case .stop: isStopped = true
        }
    }

    /// Leaves a message for another loop; all of a turn go at once.
    func post(_ message: LoopMessage, to loop: Int) { outbox[loop].append(message) }

    /// The loop that is home to tokens and devices of a bucket.
    func loop(of bucket: UInt16) -> Int { Int(bucket) % shared.mailboxes.count }

    // MARK: The end of a turn

    private func finish() {
        home.submitDelayed(at: now)
        carryOutEffects()
        submit()
        readPayloads()
        // Devices first: a push is on its way, an answer only tells of it.
        if gathering.mustWait(afterRequests: turnRequests) { flushAnswers() } else { flushDevices() }
        flushDirty()
        turnRequests = 0
        for place in outbox.indices where !outbox[place].isEmpty {
            shared.mailboxes[place].post(contentsOf: &outbox[place])
        }
        if !home.events.isEmpty {
            if let deliveries = shared.deliveries { deliveries.record(&home.events) } else { dropEvents() }
        }
    }

    /// What no delivery log wants, a simulation may.
    private func dropEvents() {
        witness?(home.events)
        home.events = []
    }

    private func submit() {
        let (changes, pushes) = home.takeChanges()
        let waiting = waitingForBatch
        waitingForBatch = []
        guard !changes.isEmpty else {
            // Nothing was changed, so nothing has to become durable.
            for work in waiting { work(self, nil) }
            return
        }
        let saved = changes.filter(\.isRecord)
        guard !pushes.isEmpty || !waiting.isEmpty || !saved.isEmpty else {
            return shared.store.submit(changes, done: nil)
        }
        let batch = nextBatch()
        batches[batch] = pushes
        if !saved.isEmpty { records[batch] = saved }
        onDurable[batch] = waiting
        let mailbox = shared.mailboxes[index]
        shared.store.submit(changes) { mailbox.post(.committed(batch: batch, $0)) }
    }

    /// A number for what the store is asked.
    func nextBatch() -> UInt64 {
        lastBatch += 1
        return lastBatch
    }

    /// Runs `work` on this loop once this turn's changes are durable, or could not be made so.
    func whenDurable(_ work: @escaping (Loop, StoreError?) -> Void) { waitingForBatch.append(work) }

    private func committed(_ batch: UInt64, _ error: StoreError?) {
        // Memory is right and the store is behind: it is told again until it has taken it.
        if let saved = records.removeValue(forKey: batch) {
            if error == nil { home.written(saved) } else { unwritten += saved }
        }
        if let pushes = batches.removeValue(forKey: batch) { home.committed(pushes, error, at: now) }
        for work in onDurable.removeValue(forKey: batch) ?? [] { work(self, error) }
        carryOutEffects()
    }

    // MARK: Deadlines

    /// Sees what time it is. A loop sleeps for a second at most, so a longer step is none of its own making.
    private func lookAtClock() {
        let step = shared.clock.now() - now
        now = now + step
        if index == 0, abs(step.nanoseconds) >= Limits.clockJump.nanoseconds {
            shared.log.warning("the clock has jumped", LogField("seconds", step.nanoseconds / 1_000_000_000))
        }
        if step.nanoseconds < -Limits.clockNoise.nanoseconds { goBack(by: Interval(nanoseconds: -step.nanoseconds)) }
    }

    /// The clock was set back: what waits for its time must not wait until the clock is there again.
    private func goBack(by interval: Interval) {
        nextSweep = nextSweep - interval
        (nextSample, nextAppeal) = (now, now)
        home.goBack(by: interval)
        for (token, connection) in connections.all {
            let timer: Moment
            switch connection {
            case .pending(let connection):
                connection.timer = connection.timer - interval
                timer = connection.timer
            case .provider(let connection):
                connection.goBack(by: interval)
                timer = connection.timer
            case .device(let connection):
                connection.goBack(by: interval)
                timer = connection.timer
            }
            deadlines.add(token, at: timer.nanoseconds)
        }
    }

    private func expire() {
        while let token = deadlines.popDue(at: now.nanoseconds) {
            // A connection that is armed for later meets an entry of its past here.
            switch connections[token] {
            case .pending(let connection) where connection.timer <= now:
                connection.timer = .distantFuture
                timer(connection)
            case .provider(let connection) where connection.timer <= now:
                connection.timer = .distantFuture
                timer(connection)
            case .device(let connection) where connection.timer <= now:
                connection.timer = .distantFuture
                timer(connection)
            case .pending, .provider, .device, nil: continue
            }
        }
        if now >= nextSweep {
            nextSweep = now + Limits.sweepInterval
            home.beginSweep(at: now)
            releaseBuffers()
            if index == 0 {
                shared.metrics.longestTurnNanoseconds.set(0)
                shared.certificates.warn(at: now, shared.log)
            }
        }
        home.sweepPart(at: now)
        if now >= nextSample {
            nextSample = now + .seconds(1)
            endStalledHandshakes()
            // A listener that paused for want of descriptors has no other event to wake it.
            resumeListeners()
            readAgain()
            home.changes = unwritten.map(home.current) + home.changes
            unwritten = []
            if index == 0 { shared.rates.sample(at: Clock.monotonic()) }
        }
    }

    /// Providers that have said nothing since the last sweep keep no buffers.
    private func releaseBuffers() {
        let before = now - Limits.sweepInterval
        for case (_, .provider(let connection)) in connections.all where connection.lastHeard < before {
            connection.stream.releaseBuffers()
        }
    }

    /// The test clock was moved: what is due by it happens now.
    func timeMoved() {
        lookAtClock()
        expire()
        carryOutEffects()
    }

    /// Asks for `timer` at `moment`, unless it is asked for earlier anyway. Returns the one that counts.
    func arm(_ token: UInt64, at moment: Moment, unless armed: Moment) -> Moment {
        guard moment < armed else { return armed }
        deadlines.add(token, at: moment.nanoseconds)
        return moment
    }
}

extension StoreChange {
    /// Whether it is about a device or a registration; pushes have their own ways to be tried again.
    fileprivate var isRecord: Bool {
        switch self {
        case .save, .forget, .saveDevice: true
        case .append, .discard, .saveApp, .removeApp, .saveKey: false
        }
    }
}
