import PushCore
import Reactor
import Storage
import Wire

/// The devices, registrations and queues of one loop. No other thread sees it and it does no I/O: events and the time
/// come in, effects, store changes and delivery events collect in it until the loop takes them.
final class Home {
    let policy: QueuePolicy
    let config: Config
    let metrics: Metrics
    var devices: [DeviceID: DeviceState] = [:]
    var registrations: [DeviceToken: RegistrationState] = [:]
    /// Tokens that start with another device's bytes: which bucket is their device's.
    var elsewhere: [DeviceToken: UInt16] = [:]
    var effects: [HomeEffect] = []
    /// Answers to providers: apart from the effects, because no order binds them to those and they are many.
    var answers: [(answer: PushAnswer, reply: ReplyAddress)] = []
    var changes: [StoreChange] = []
    var events: [DeliveryEvent] = []
    var numbers: Numbers

    /// The devices that hold pushes, and some that did at the last sweep: few beside those that hold none.
    var holders: [DeviceState] = []
    /// Where the sweep goes on; nil when it is over.
    var sweepPlace: Int?
    /// Pushes whose turn has come and whose payloads are in the store, until the loop takes them.
    var wanted: [HeldPush] = []
    /// Devices whose payloads the store could not give.
    var unread: [DeviceState] = []
    /// Registrations that have ended, to be forgotten one day.
    var ended = EndedRegistrations()
    /// What queues asked for and was not carried out yet.
    var queueEffects: [QueueEffect] = []
    /// Objects of pushes that have just ended.
    var over: [QueuedPush] = []
    /// Objects for pushes to come.
    private var spares: [QueuedPush] = []
    /// Memory of ended pushes' contents, for those to come.
    private var rooms: [[UInt8]] = []

    /// The push that is being accepted: what it replaces ends meanwhile, and it may itself.
    private(set) var accepting: UInt64?
    /// Pushes for live devices, to be written unless they are acknowledged first; in order of their time. By number, so
    /// that one that has ended is freed at once: its memory is still warm for the next.
    private var delayed: [(due: Moment, push: HeldPush)] = []
    private var delayedStart = 0

    init(config: Config, metrics: Metrics, numbers: Numbers) {
        self.config = config
        self.metrics = metrics
        self.numbers = numbers
        policy = config.queuePolicy
    }

    // MARK: Pushes

    /// Takes a push for a token of this home; the answer may come now or later.
    func offer(_ offer: PushOffer, at now: Moment) {
        guard let registration = registrations[offer.token] else {
            return answer(.refused(.badDeviceToken), offer.reply)
        }
        switch registration.record.state {
        case .active: break
        case .unregistered: return answer(gone(.unregistered, registration), offer.reply)
        case .expired: return answer(gone(.expiredToken, registration), offer.reply)
        }
        guard registration.record.topic == offer.topic.name else {
            return answer(.refused(.deviceTokenNotForTopic), offer.reply)
        }
        guard admitsRate(registration, at: now) else { return answer(.refused(.tooManyRequests), offer.reply) }
        accept(queued(push(from: offer, registration, at: now)), for: registration, offer.reply, at: now)
    }

    private func push(from offer: PushOffer, _ registration: RegistrationState, at now: Moment) -> Push {
        Push(
            number: numbers.nextPush(),
            registration: registration.record.number,
            apnsID: offer.apnsID,
            uniqueID: offer.uniqueID,
            priority: offer.request.priority,
            type: offer.request.type,
            expires: offer.request.expires(acceptedAt: now, maximumAge: config.queueMaximumAge),
            acceptedAt: now,
            content: offer.content
        )
    }

    private func queued(_ push: Push) -> QueuedPush {
        guard let queued = spares.popLast() else { return QueuedPush(push) }
        queued.become(push)
        return queued
    }

    /// Keeps the objects of pushes that are over, but for those that something still holds, as a connection may.
    private func recycle() {
        while var queued = over.popLast() {
            guard spares.count < Limits.sparePushes, isKnownUniquelyReferenced(&queued) else { continue }
            let room = queued.takeRoom()
            if rooms.count < Limits.sparePushes { rooms.append(room) }
            spares.append(queued)
        }
    }

    /// Memory for the content of a push.
    func takeRoom() -> [UInt8] { rooms.popLast() ?? [] }

    private func accept(
        _ queued: QueuedPush,
        for registration: RegistrationState,
        _ reply: ReplyAddress,
        at now: Moment
    ) {
        let push = queued.push
        let device = registration.owner
        hold(device)
        // The push is known before its effects are, so that an effect that ends it finds it.
        if !push.isOnce {
            device.unanswered.add(UnansweredPush(number: push.number, type: push.type, reply: reply))
        }
        if let session = device.session, device.queue.sendAtOnce(queued, at: now, room: &session.room) {
            record(push, Outcome(.received), device, at: now)
            notify(device, queued, .live)
            return makeDurable(push, device, mayWait: true, at: now)
        }
        let verdict = device.queue.add(queued, at: now, into: &queueEffects)
        if verdict == .tooMany {
            _ = device.unanswered.remove(push.number)
            metrics.held.add(-1)
            answer(.refused(.tooManyRequests), reply)
            return apply(device, at: now)
        }
        record(push, Outcome(.received), device, at: now)
        if push.isOnce {
            metrics.accepted(push.type)
            answer(.accepted, reply)
        }
        accepting = push.number
        defer { accepting = nil }
        // Not if it stays in storage, nor if it takes another's place: that one must stay in the store until it came.
        let mayWait = queueEffects.isEmpty
        pump(device, at: now)
        if verdict == .accepted { makeDurable(push, device, mayWait: mayWait, at: now) }
    }

    /// Counts a push, before its device has it.
    func hold(_ device: DeviceState) {
        metrics.held.add(1)
        guard !device.isHolder else { return }
        device.isHolder = true
        holders.append(device)
    }

    /// A push on its way to a device waits a little for its acknowledgement, which makes the write needless.
    private func makeDurable(_ push: Push, _ device: DeviceState, mayWait: Bool, at now: Moment) {
        if !mayWait {
            submit(push, device)
        } else if device.unanswered.contains(push.number) {
            delayed.append((now + Limits.writeDelay, HeldPush(number: push.number, device: device)))
        }
    }

    private func submit(_ push: Push, _ device: DeviceState) {
        guard device.unanswered.submit(push.number) else { return }
        changes.append(.append(push))
        submitted.append(HeldPush(number: push.number, device: device))
    }

    /// Pushes whose `append` is among `changes`.
    private(set) var submitted: [HeldPush] = []

    /// Hands over what must be written now; the pushes are those to name in `committed` afterwards.
    func takeChanges() -> (changes: [StoreChange], pushes: [HeldPush]) {
        defer {
            changes = []
            submitted = []
        }
        return (changes, submitted)
    }

    /// Whether answers or effects wait to be carried out.
    var hasEffects: Bool { !effects.isEmpty || !answers.isEmpty }

    /// Whether something waits to be taken.
    var hasWork: Bool { hasEffects || !changes.isEmpty || !wanted.isEmpty }

    /// Turns delayed pushes whose time has come into changes. Those at the front that were acknowledged are let go
    /// before: they need no turn, and their devices are still warm in the processor's cache.
    func submitDelayed(at now: Moment) {
        while delayedStart < delayed.count {
            let (number, device) = (delayed[delayedStart].push.number, delayed[delayedStart].push.device)
            if device.unanswered.contains(number) {
                guard delayed[delayedStart].due <= now else { break }
                if let push = device.queue.push(numbered: number) { submit(push, device) }
            }
            delayedStart += 1
        }
        if delayedStart == delayed.count, delayedStart > 0 {
            delayed.removeAll(keepingCapacity: true)
            delayedStart = 0
        } else if delayedStart > 1024 {
            delayed.removeFirst(delayedStart)
            delayedStart = 0
        }
    }

    /// When `submitDelayed` has something to do next.
    var nextDelayed: Moment? { delayedStart < delayed.count ? delayed[delayedStart].due : nil }

    /// A batch is durable, or failed: then what was not acknowledged meanwhile is taken back and refused.
    func committed(_ pushes: [HeldPush], _ error: StoreError?, at now: Moment) {
        for push in pushes {
            guard let waiting = push.device.unanswered.remove(push.number) else { continue }
            answer(error == nil ? .accepted : .refused(.serviceUnavailable), waiting, push.device)
            guard error != nil else {
                endDisplaced(by: push.number, push.device, at: now)
                continue
            }
            withdraw(push.number, push.device, at: now)
            // Its place in the window is free.
            pump(push.device, at: now)
        }
    }

    /// The end of a drain: what is not durable by now is told so, and is not kept either. One that is with the store
    /// is discarded behind its append, so that the two cancel or are both written.
    func refuseUnanswered(at now: Moment) {
        for device in holders where !device.unanswered.isEmpty {
            for waiting in device.unanswered.removeAll() {
                answer(.refused(.shutdown), waiting, device)
                withdraw(waiting.number, device, at: now)
                if waiting.isSubmitted { changes.append(.discard(waiting.number)) }
            }
        }
    }

    // MARK: What queues ask for

    /// Sends what may be sent to the device's session.
    func pump(_ device: DeviceState, at now: Moment) {
        if let session = device.session {
            device.queue.pump(at: now, room: &session.room, into: &queueEffects)
            if device.queue.lacksPayload { wantPayloads(device, at: now) }
        }
        apply(device, at: now)
    }

    /// Carries out the effects a queue asked for.
    func apply(_ device: DeviceState, at now: Moment) {
        guard !queueEffects.isEmpty else { return }
        var pending: [QueueEffect] = []
        swap(&pending, &queueEffects)
        pending.takeEach { carryOut($0, device, at: now) }
        if queueEffects.isEmpty { swap(&pending, &queueEffects) }
        if !over.isEmpty { recycle() }
    }

    func carryOut(_ effect: consuming QueueEffect, _ device: DeviceState, at now: Moment) {
        switch effect {
        case .send(let queued, let flag):
            notify(device, queued, flag)
        case .resend(let queued, let flag):
            metrics.redeliveries.add(1)
            notify(device, queued, flag)
        case .stored(let queued, let state):
            record(queued.push, Outcome(state), device, at: now)
        case .delivered(let queued, let fromStorage):
            (fromStorage ? metrics.deliveredFromStorage : metrics.deliveredLive).add(1)
            if !fromStorage { metrics.deliverySeconds.observe(Int((now - queued.push.acceptedAt).nanoseconds)) }
            record(queued.push, Outcome(fromStorage ? .deliveredFromStorage : .delivered), device, at: now)
            finish(queued.push, device, at: now)
            over.append(queued)
        case .discarded(let queued, let cause, let fromStorage):
            if cause.isReplacement, displace(queued, cause, fromStorage: fromStorage, device) { return }
            metrics.discarded(cause)
            record(queued.push, Outcome(cause, fromStorage: fromStorage), device, at: now)
            finish(queued.push, device, cause, at: now)
            over.append(queued)
        case .revoked(let number):
            if let registration = device.registration(numbered: number) { revoke(registration, at: now) }
        case .closeSession:
            if let session = device.session { effects.append(.endSession(session, reason: "no acknowledgement")) }
        }
    }

    private func notify(_ device: DeviceState, _ queued: QueuedPush, _ flag: StorageFlag) {
        guard let session = device.session,
            let route = device.registration(numbered: queued.push.registration)?.route
        else { return }
        let notification = OutgoingNotification(queued: queued, flag: flag, route: route)
        effects.append(.notify(connection: session.connection, notification))
    }

    /// The push has ended: it is answered if it was not, and the store forgets it if it ever knew it.
    private func finish(_ push: Push, _ device: DeviceState, _ cause: DiscardCause? = nil, at now: Moment) {
        metrics.held.add(-1)
        if push.isOnce { return }
        guard let waiting = device.unanswered.remove(push.number) else {
            return changes.append(.discard(push.number))
        }
        if waiting.isSubmitted { changes.append(.discard(push.number)) }
        // Replaced by one that may yet be lost: 200 would promise what only that one can keep.
        if cause?.isReplacement == true, let accepting, device.unanswered.contains(accepting) {
            device.unanswered.leave(waiting, to: accepting)
        } else {
            endDisplaced(by: push.number, device, at: now)
            answer(.accepted, waiting, device)
        }
    }

    private func answer(_ answer: PushAnswer, _ waiting: UnansweredPush, _ device: DeviceState) {
        if case .accepted = answer { metrics.accepted(waiting.type) }
        self.answer(answer, waiting.reply)
        for reply in device.unanswered.takeInherited(waiting.number) {
            if case .accepted = answer { metrics.accepted(waiting.type) }
            self.answer(answer, reply)
        }
    }

    private func answer(_ answer: PushAnswer, _ reply: ReplyAddress) { answers.append((answer, reply)) }

    private func gone(_ rejection: Rejection, _ registration: RegistrationState) -> PushAnswer {
        .gone(rejection, since: registration.endedAt)
    }

    private func admitsRate(_ registration: RegistrationState, at now: Moment) -> Bool {
        guard config.providerTokenRate > 0 else { return true }
        let second = UInt32(truncatingIfNeeded: now.seconds)
        if registration.rateSecond != second { (registration.rateSecond, registration.rateCount) = (second, 0) }
        registration.rateCount += 1
        return registration.rateCount <= config.providerTokenRate
    }

    /// A line for the delivery log.
    func record(_ push: Push, _ outcome: Outcome, _ device: DeviceState, at now: Moment) {
        switch config.effectiveLogDeliveries {
        case .off: return
        case .discarded where !outcome.state.isDiscarded: return
        case .all, .discarded: break
        }
        let registration = device.registration(numbered: push.registration)?.record
        events.append(
            DeliveryEvent(
                push: push,
                number: push.number,
                at: now,
                state: outcome.state,
                cause: outcome.cause,
                device: registration?.device,
                topic: registration?.topic,
                tokenPrefix: registration?.token.prefix
            )
        )
    }
}

/// What has become of a push, and why.
struct Outcome {
    let state: DeliveryState
    let cause: DiscardCause?

    init(_ state: DeliveryState) { (self.state, cause) = (state, nil) }

    init(_ cause: DiscardCause, fromStorage: Bool) {
        (state, self.cause) = (cause.state(stored: fromStorage), cause)
    }
}

/// Gives numbers to pushes and registrations of one loop; loops take turns, so that no two give the same.
struct Numbers {
    private var push: UInt64
    private var registration: UInt64
    /// How many loops take turns.
    let stride: UInt64

    /// Numbers above the given ones. `loop` of `loops` gives each `loops`-th.
    init(afterPush push: UInt64, afterRegistration registration: UInt64, loop: Int, of loops: Int) {
        self.push = push + UInt64(loop) + 1
        self.registration = registration + UInt64(loop) + 1
        stride = UInt64(loops)
    }

    mutating func nextPush() -> UInt64 {
        // The id on the device wire is the low half, and it is never 0.
        if UInt32(truncatingIfNeeded: push) == 0 { push += stride }
        defer { push += stride }
        return push
    }

    mutating func nextRegistration() -> UInt64 {
        defer { registration += stride }
        return registration
    }
}
