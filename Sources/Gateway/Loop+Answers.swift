import HTTP2
import PushCore
import Reactor

// Answers to providers, and everything that is written at the end of a turn.
extension Loop {
    /// The home loop has spoken: answer the request that waits, if it still does.
    func deliver(_ verdict: PushAnswer, to address: ReplyAddress) {
        guard case .provider(let connection) = connections[address.connection],
            let waiting = connection.take(address.place)
        else { return }
        shared.metrics.requestSeconds.observe(Int((now - waiting.receivedAt).nanoseconds))
        switch verdict {
        case .accepted:
            shared.metrics.answered(nil)
            answer.reset(status: 200)
            answer.add("apns-id", waiting.apnsID.characters.span)
            if shared.config.environment == .development {
                answer.add("apns-unique-id", UUIDText(waiting.uniqueID).characters.span)
            }
            connection.http.respond(to: waiting.request, answer)
            connection.http.release(waiting.request)
        case .refused(let rejection):
            respond(waiting.request, Refusal(rejection, waiting.apnsID), connection)
        case .gone(let rejection, let since):
            respond(waiting.request, Refusal(rejection, waiting.apnsID, since: since), connection)
        }
        markDirty(connection)
    }

    /// Refuses a request that never left this loop.
    func refuse(_ request: HTTP2Request, _ rejection: Rejection, _ connection: ProviderConnection) {
        respond(request, Refusal(rejection, messageID(of: request)), connection)
    }

    private func respond(_ request: HTTP2Request, _ refusal: Refusal, _ connection: ProviderConnection) {
        let rejection = refusal.rejection
        shared.metrics.answered(rejection)
        answer.reset(status: rejection.status)
        answer.add("apns-id", refusal.apnsID.characters.span)
        answer.body = refusal.since.map { rejection.body(since: $0) } ?? bodies[rejection]
        connection.http.respond(to: request, answer)
        if !request.isComplete { connection.http.refuseRest(of: request) }
        connection.http.release(request)
    }

    /// Answers what was refused early and has come to its end meanwhile.
    func answerRefused(_ connection: ProviderConnection) {
        let waiting = connection.refused
        connection.refused = []
        for (request, rejection) in waiting {
            if request.isClosed {
                connection.http.release(request)
            } else if request.isComplete {
                refuse(request, rejection, connection)
            } else {
                connection.refused.append((request, rejection))
            }
        }
    }

    /// The request's own id if it is good, else a new one: every answer carries one.
    private func messageID(of request: HTTP2Request) -> UUIDText {
        var head = RequestHead()
        head[.apnsID] = request.range(of: RequestField.apnsID.rawValue)
        // A bad id is told by the rejection; here it only means that there is none to echo.
        return (try? PushRequest.messageID(head, request.bytes.span)) ?? nil ?? random.messageID()
    }

    // MARK: Effects of the home

    /// Answers, notifications and endings that the home asked for.
    func carryOutEffects() {
        while home.hasEffects {
            if !home.answers.isEmpty { sendAnswers() }
            if home.effects.isEmpty { continue }
            var effects: [HomeEffect] = []
            swap(&effects, &home.effects)
            effects.takeEach { carryOut($0) }
            if home.effects.isEmpty { swap(&effects, &home.effects) }
        }
    }

    private func sendAnswers() {
        var answers: [(answer: PushAnswer, reply: ReplyAddress)] = []
        swap(&answers, &home.answers)
        for (answer, reply) in answers {
            if reply.loop == index {
                deliver(answer, to: reply)
            } else {
                post(.answer(answer, reply), to: reply.loop)
            }
        }
        answers.removeAll(keepingCapacity: true)
        if home.answers.isEmpty { swap(&answers, &home.answers) }
    }

    private func carryOut(_ effect: consuming HomeEffect) {
        switch effect {
        case .notify(let connection, let notification): notify(connection, notification)
        case .deadlineMoved(let link):
            if case .device(let connection) = connections[link.connection] { rearm(connection) }
        case .endSession(let link, let reason): endSession(link, reason: reason)
        case .tokenGone(let link, let registration): tokenGone(link, registration)
        }
    }

    // MARK: Writing

    func markDirty(_ connection: ProviderConnection) {
        guard !connection.isDirty else { return }
        connection.isDirty = true
        dirty.append(connection.token)
    }

    func markDirty(_ connection: DeviceConnection) {
        guard !connection.isDirty else { return }
        connection.isDirty = true
        dirtyDevices.append(connection.token)
    }

    /// One record and one write per provider connection and turn.
    func flushDirty() {
        var tokens: [UInt64] = []
        swap(&tokens, &dirty)
        for token in tokens {
            if case .provider(let connection) = connections[token] { flush(connection) }
        }
        tokens.removeAll(keepingCapacity: true)
        if dirty.isEmpty { swap(&tokens, &dirty) }
    }

    /// The same for devices.
    func flushDevices() { flushDevices { _ in true } }

    /// Writes what answers a device's own commands: only notifications gain by waiting.
    func flushAnswers() { flushDevices(where: \.hasAnswers) }

    private func flushDevices(where isDue: (DeviceConnection) -> Bool) {
        var tokens: [UInt64] = []
        swap(&tokens, &dirtyDevices)
        for token in tokens {
            guard case .device(let connection) = connections[token] else { continue }
            if isDue(connection) { flush(connection) } else { dirtyDevices.append(token) }
        }
        tokens.removeAll(keepingCapacity: true)
        if dirtyDevices.isEmpty { swap(&tokens, &dirtyDevices) }
    }

    func flush(_ connection: ProviderConnection) {
        connection.isDirty = false
        guard connection.stream.isEstablished else { return }
        connection.http.collect(into: &buffers.plain)
        connection.http.takeAbuse { note($0, $1, of: connection.peer) }
        write(connection.stream, connection.token)
        guard connections[connection.token] != nil else { return }
        if connection.hasEnded {
            finish(connection)
        } else if connection.http.isFinished, connection.waitingCount == 0 {
            leave(connection.stream, connection.token)
        }
        rearm(connection)
    }

    private func flush(_ connection: DeviceConnection) {
        connection.isDirty = false
        connection.takeOutput(into: &buffers.plain, at: shared.clock.now())
        write(connection.stream, connection.token)
        // The session owns no buffer between turns: it goes back to the loop.
        buffers.giveBack(&connection.notifications)
        connection.updateRoom()
        // What found no room before may find some now.
        if case .session(let device, _) = connection.phase, device.queue.waitingCount > 0 {
            home.pump(device, at: now)
            carryOutEffects()
        }
        rearm(connection)
    }

    /// Encrypts and writes what lies in the plain buffer.
    func write(_ stream: SecureStream, _ token: UInt64) {
        do throws(StreamFailure) {
            try stream.sendPlain()
            if stream.unsentCount > 0 { watchWriting(stream, token) }
        } catch {
            close(token)
        }
    }

    /// Ends a connection with FIN; its socket closes when the peer has closed, or after a moment.
    func leave(_ stream: SecureStream, _ token: UInt64) {
        stream.end()
        if stream.unsentCount > 0 { watchWriting(stream, token) }
        switch connections[token] {
        case .provider(let connection):
            connection.isLeaving = true
            connection.timer = arm(token, at: now + Limits.farewell, unless: connection.timer)
        case .device(let connection):
            connection.timer = arm(token, at: now + Limits.farewell, unless: connection.timer)
        case .pending, nil: break
        }
    }

    // MARK: Time

    func timer(_ connection: ProviderConnection) {
        if connection.isLeaving, connection.stream.isEnding { return close(connection.token) }
        if !connection.http.hasBegun, now - connection.openedAt >= Limits.handshake {
            failed(.provider(connection))
            return close(connection.token)
        }
        let late = now - config.providerRequestTimeout
        refuseIncomplete(connection, begunUntil: late)
        for place in connection.places(until: late) {
            let address = ReplyAddress(loop: index, connection: connection.token, place: place)
            deliver(.refused(.serviceUnavailable), to: address)
        }
        // A header block that does not end keeps all else from coming.
        let isStuck = connection.http.openBlockBegan.map { $0 <= late.nanoseconds } ?? false
        let isIdle = now - connection.lastHeard >= config.providerIdleTimeout
        if isStuck || isIdle, connection.waitingCount == 0 {
            refuseIncomplete(connection, begunUntil: now)
            let reason = Rejection.idleTimeout.body()
            connection.http.goAway(lastStream: connection.http.lastStream, code: .noError, reason: reason)
            flush(connection)
            return leave(connection.stream, connection.token)
        }
        rearm(connection)
    }

    /// Requests whose end does not come are answered as late as those whose answer does not.
    private func refuseIncomplete(_ connection: ProviderConnection, begunUntil late: Moment) {
        connection.http.takeIncomplete(into: &requests, begunUntil: late.nanoseconds)
        for request in requests { refuse(request, .serviceUnavailable, connection) }
        if !requests.isEmpty { markDirty(connection) }
        requests.removeAll(keepingCapacity: true)
        connection.refused.removeAll { request, rejection in
            guard request.begunAt <= late.nanoseconds else { return false }
            refuse(request, rejection, connection)
            markDirty(connection)
            return true
        }
    }

    private func rearm(_ connection: ProviderConnection) {
        guard connections[connection.token] != nil, !connection.isLeaving else { return }
        var next = connection.lastHeard + config.providerIdleTimeout
        if !connection.http.hasBegun { next = connection.openedAt + Limits.handshake }
        if connection.http.openStreams > 0 || connection.http.openBlockBegan != nil {
            // Often enough that a request is told in time, seldom enough to cost nothing.
            let timeout = config.providerRequestTimeout.nanoseconds
            next = min(next, now + Interval(nanoseconds: timeout / 8))
        }
        connection.timer = arm(connection.token, at: next, unless: connection.timer)
    }
}

/// What a refused request is told.
private struct Refusal {
    let rejection: Rejection
    let apnsID: UUIDText
    /// 410: since when the token is dead.
    let since: Moment?

    init(_ rejection: Rejection, _ apnsID: UUIDText, since: Moment? = nil) {
        self.rejection = rejection
        self.apnsID = apnsID
        self.since = since
    }
}
