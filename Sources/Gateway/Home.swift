import PushCore
import Reactor
import Storage
import Wire

/// The devices, registrations and queues of one loop. No other thread sees it and it does no I/O: events and the time
/// come in, effects, store changes and delivery events collect in it until the loop takes them.
final class Home {
    let policy: QueuePolicy
    var config: Config
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

    /// The devices that hold pushes. Most hold none, so what looks for pushes looks here.
    var holders = Holders()
    /// Pushes whose turn has come and whose payloads are in the store, until the loop takes them.
    var wanted: [PushAddress] = []
    /// Devices whose payloads the store could not give.
    var unread: [DeviceState] = []
    /// Registrations that have ended, to be forgotten one day.
    var ended = EndedRegistrations()
    /// What queues asked for and was not carried out yet.
    var queueEffects: [QueueEffect] = []
    /// Devices that broke the protocol again and again.
    var quarantine = Quarantine()
    /// Faults that a test wants of a device's next commands.
    var plannedFaults: [DeviceID: Int] = [:]
    /// Objects of pushes that have just ended, and of those to come.
    var spares = SparePushes()
    /// Pushes whose `append` is among `changes`.
    private(set) var submitted: [PushAddress] = []

    /// Pushes for live devices, to be written unless they are acknowledged first.
    private var delayed = DelayedPushes()

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
        accept(spares.queued(push(from: offer, registration, at: now)), for: registration, offer.reply, at: now)
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

    private func accept(
        _ queued: QueuedPush,
        for registration: RegistrationState,
        _ reply: ReplyAddress,
        at now: Moment
    ) {
        let push = queued.push
        let device = registration.owner
        metrics.held.add(1)
        holders.add(device)
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
        if verdict != .discarded { supersedeDisplaced(by: push, device, at: now) }
        // Not if it stays in storage, nor if it takes another's place: that one must stay in the store until it came.
        let mayWait = queueEffects.isEmpty
        pump(device, at: now)
        if verdict == .accepted { makeDurable(push, device, mayWait: mayWait, at: now) }
    }

    /// A push on its way to a device waits a little for its acknowledgement, which makes the write needless.
    private func makeDurable(_ push: Push, _ device: DeviceState, mayWait: Bool, at now: Moment) {
        if !mayWait {
            submit(push, device)
        } else if device.unanswered.contains(push.number) {
            delayed.add(PushAddress(number: push.number, device: device), due: now + Limits.writeDelay)
        }
    }

    private func submit(_ push: Push, _ device: DeviceState) {
        guard device.unanswered.submit(push.number) else { return }
        changes.append(.append(push))
        submitted.append(PushAddress(number: push.number, device: device))
    }

    /// Hands over what must be written now; the pushes are those to name in `committed` afterwards.
    func takeChanges() -> (changes: [StoreChange], pushes: [PushAddress]) {
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
        while let (due, delayed) = delayed.first {
            if delayed.device.unanswered.contains(delayed.number) {
                guard due <= now else { break }
                if let push = delayed.device.queue.push(numbered: delayed.number) { submit(push, delayed.device) }
            }
            self.delayed.removeFirst()
        }
    }

    /// The clock was set back.
    func goBack(by interval: Interval) { delayed.goBack(by: interval) }

    /// When `submitDelayed` has something to do next.
    var nextDelayed: Moment? { delayed.first?.due }

    /// A batch is durable, or failed: then what was not acknowledged meanwhile is taken back and refused.
    func committed(_ pushes: [PushAddress], _ error: StoreError?, at now: Moment) {
        for push in pushes {
            guard let waiting = push.device.unanswered.remove(push.number) else { continue }
            answer(error == nil ? .accepted : .refused(.serviceUnavailable), waiting, push.device)
            guard error != nil else {
                settle(push.number, push.device, at: now)
                if push.device.queue.isObsolete(push.number) { changes.append(.discard(push.number)) }
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
        for device in holders.all where !device.unanswered.isEmpty {
            // One after the other: what two have replaced comes back with the second.
            while let waiting = device.unanswered.removeFirst() {
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
        spares.recycle()
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
            // A low priority goes to a sleeping device when its wait is over, even if that says nothing until then.
            if state == .storedPower, let session = device.session { effects.append(.deadlineMoved(session)) }
        case .delivered(let queued, let fromStorage):
            (fromStorage ? metrics.deliveredFromStorage : metrics.deliveredLive).add(1)
            if !fromStorage { metrics.deliverySeconds.observe(Int((now - queued.push.acceptedAt).nanoseconds)) }
            record(queued.push, Outcome(fromStorage ? .deliveredFromStorage : .delivered), device, at: now)
            finish(queued.push, device, at: now)
            spares.ended(queued)
        case .discarded(let queued, let cause, let fromStorage):
            metrics.discarded(cause)
            record(queued.push, Outcome(cause, fromStorage: fromStorage), device, at: now)
            finish(queued.push, device, at: now)
            spares.ended(queued)
        case .replaced(let queued, let cause, let replacement, let fromStorage):
            let old = DisplacedPush(queued: queued, cause: cause, replacement: replacement, fromStorage: fromStorage)
            replaced(old, device, at: now)
        case .obsolete(let number): forget(number, device)
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
    private func finish(_ push: Push, _ device: DeviceState, at now: Moment) {
        metrics.held.add(-1)
        if push.isOnce { return }
        guard let waiting = device.unanswered.remove(push.number) else {
            #if PLANTED_FAULTS
                if policy.fault == .acknowledgementLost { return }
            #endif
            return changes.append(.discard(push.number))
        }
        if waiting.isSubmitted { changes.append(.discard(push.number)) }
        settle(push.number, device, at: now)
        answer(.accepted, waiting, device)
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
