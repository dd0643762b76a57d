import HTTP2
import JSON
import PushCore
import Reactor
import TLS

// The provider's wire: requests in, offers to their home loops, answers out.
extension Loop {
    func read(_ connection: ProviderConnection) {
        do throws(StreamFailure) {
            for _ in 0..<Limits.readsPerTurn {
                switch try connection.stream.read() {
                case .wouldBlock: return
                case .ended: return ended(connection)
                case .plain(let count, let mayContinue):
                    connection.lastHeard = now
                    guard receive(count, connection) else { return }
                    if !mayContinue { return }
                }
            }
        } catch {
            close(connection.token)
        }
    }

    /// The peer sends no more, and may listen yet: it is told what is still to be said of its requests.
    private func ended(_ connection: ProviderConnection) {
        guard connection.stream.isEstablished else {
            failed(.provider(connection))
            return close(connection.token)
        }
        guard !connection.stream.isEnding else { return close(connection.token) }
        connection.hasEnded = true
        // These will not come to their end.
        for (request, rejection) in connection.refused { refuse(request, rejection, connection) }
        connection.refused = []
        watchNothing(connection.stream, connection.token)
        markDirty(connection)
    }

    /// Closes a connection whose peer has ended, once everything is said.
    func finish(_ connection: ProviderConnection) {
        guard connection.waitingCount == 0, connection.stream.unsentCount == 0 else { return }
        connection.stream.end()
        if connection.stream.unsentCount == 0 { close(connection.token) }
    }

    /// Feeds plain bytes to HTTP/2. False once the connection is lost.
    private func receive(_ count: Int, _ connection: ProviderConnection) -> Bool {
        // What comes after our goodbye is dropped.
        if connection.stream.isEnding { return true }
        markDirty(connection)
        connection.http.time = now.nanoseconds
        var start = 0
        while start < count {
            let end = min(start + Limits.requestPiece, count)
            do throws(HTTP2Error) {
                let plain = buffers.transport.plaintext
                try connection.http.receive(plain.span.extracting(start..<end), at: Int(now.seconds))
            } catch {
                shared.log.debug("provider broke HTTP/2", LogField("peer", connection.peer), LogField("error", error))
                failed(.provider(connection))
                flush(connection)
                leave(connection.stream, connection.token)
                return false
            }
            handleRequests(connection)
            start = end
        }
        if connection.isAtDoor, connection.http.hasBegun {
            connection.isAtDoor = false
            leaveDoorway(connection.token, isDevice: false)
        }
        return true
    }

    private func handleRequests(_ connection: ProviderConnection) {
        connection.http.takeRequests(into: &requests)
        turnRequests += requests.count
        for request in requests { handle(request, connection) }
        requests.removeAll(keepingCapacity: true)
        if !connection.refused.isEmpty { answerRefused(connection) }
    }

    // MARK: One request

    private func handle(_ request: HTTP2Request, _ connection: ProviderConnection) {
        var head = RequestHead { request.range(of: $0) }
        head.hasDuplicates = request.hasRepeatedUnknown || request.repeatedFields & ~pseudoHeaders != 0
        do throws(Rejection) {
            let offer = try offer(request, head, connection)
            send(offer)
        } catch {
            if request.isComplete || error == .payloadTooLarge {
                refuse(request, error, connection)
            } else {
                connection.refused.append((request, error))
            }
        }
    }

    /// Everything that can be said about a request before its device token is looked up, in the order of
    /// docs/provider-api.md.
    private func offer(
        _ request: HTTP2Request,
        _ head: RequestHead,
        _ connection: ProviderConnection
    ) throws(Rejection) -> PushOffer {
        let bytes = request.bytes.span
        // Channel management has paths of its own; no push goes in here.
        if connection.isForChannels { throw .badPath }
        let target = try PushRequest.target(head, bytes)
        let verified = try authorize(request, head, connection)
        let messageID = try PushRequest.messageID(head, bytes)
        let topic = try allowedTopic(request, head, verified, connection)
        let parsed = try PushRequest(head, bytes, topicSuffix: topic.suffix)
        try checkPayload(request, parsed)
        let token = try deviceToken(target)
        if let forced = shared.answers.next() { throw forced }

        let apnsID = messageID ?? random.messageID()
        let uniqueID = random.uniqueID()
        if let expiration = parsed.expiration, expiration >= ProviderLint.milliseconds {
            note(.expirationInMilliseconds, connection)
        }
        let waiting = ProviderConnection.Waiting(
            request: request,
            apnsID: apnsID,
            uniqueID: uniqueID,
            receivedAt: now
        )
        let collapseID = parsed.collapseID ?? request.body.lowerBound..<request.body.lowerBound
        let content = PushContent(
            payload: request.bytes[request.body],
            collapseID: request.bytes[collapseID],
            in: home.spares.takeRoom()
        )
        connection.http.reclaimBytes(of: request)
        return PushOffer(
            token: token,
            topic: topic,
            request: parsed,
            apnsID: apnsID,
            uniqueID: uniqueID,
            content: content,
            reply: ReplyAddress(loop: index, connection: connection.token, place: connection.wait(waiting))
        )
    }

    /// The connection's provider token. The header is compared with the last good one before it is parsed.
    private func authorize(
        _ request: HTTP2Request,
        _ head: RequestHead,
        _ connection: ProviderConnection
    ) throws(Rejection) -> VerifiedToken {
        if let verified = connection.verified, verified.catalogVersion == catalog.version,
            request.holds(RequestField.authorization.rawValue, connection.authorization)
        {
            try verified.claims.checkAge(at: now)
            return verified
        }
        guard let range = head[.authorization] else { throw .missingProviderToken }
        let bytes = request.bytes
        let header = bytes.span.extracting(range)
        guard let start = bearerTokenStart(header) else { throw .missingProviderToken }
        guard header.count <= Limits.authorization else { throw .invalidProviderToken }
        let token = header.extracting(start..<header.count)
        defer { if let lint = verifier.takeLint() { note(lint, connection) } }
        let verified = try verifier.verify(token, catalog, shared.metrics, at: now)
        let isOtherTeam = connection.team.map { $0 != verified.claims.team } ?? false
        if isOtherTeam, !config.providerSeveralTeams { throw .invalidProviderToken }
        do throws(Rejection) {
            try connection.updates.admit(verified.digest, at: now)
        } catch {
            shared.metrics.verified(.tooMany)
            throw error
        }
        if connection.team == nil {
            connection.team = verified.claims.team
            shared.addresses.succeeded(Caller(connection.peer, isDevice: false))
        }
        connection.http.raiseStreamLimit()
        connection.authorization = copy(header)
        connection.verified = verified
        return verified
    }

    private func allowedTopic(
        _ request: HTTP2Request,
        _ head: RequestHead,
        _ verified: VerifiedToken,
        _ connection: ProviderConnection
    ) throws(Rejection) -> Topic {
        let topic: Topic
        if let (last, version) = connection.lastTopic, version == catalog.version,
            request.holds(RequestField.topic.rawValue, last.bytes)
        {
            topic = last
        } else {
            let bytes = request.bytes
            let name = bytes[try PushRequest.topic(head, bytes.span)]
            guard let found = catalog.topicsByName[String(decoding: name, as: UTF8.self)] else {
                throw .topicDisallowed
            }
            topic = found
            connection.lastTopic = (found, catalog.version)
        }
        let listed = verified.key.topics
        guard topic.team == verified.claims.team, listed.isEmpty || listed.contains(topic.name) else {
            throw .topicDisallowed
        }
        return topic
    }

    private func checkPayload(_ request: HTTP2Request, _ parsed: PushRequest) throws(Rejection) {
        if request.bodyCount == 0 { throw .payloadEmpty }
        if request.bodyCount > parsed.payloadLimit || request.isBodyTooLarge { throw .payloadTooLarge }
        guard config.providerPayload == .json else { return }
        guard judge.isObject(request.bytes.span.extracting(request.body)) else { throw .badRequestPayload }
    }

    /// To the token's home: this loop, or another.
    private func send(_ offer: PushOffer) {
        let target = loop(of: offer.token.bucket)
        if target == index { receive(offer) } else { post(.push(offer), to: target) }
    }

    /// An offer has come to the home of its token; one for a token that starts like another device's goes on.
    func receive(_ offer: PushOffer) {
        if !home.elsewhere.isEmpty, let bucket = home.elsewhere[offer.token], loop(of: bucket) != index {
            return post(.push(offer), to: loop(of: bucket))
        }
        if isClosing { home.answers.append((.refused(.shutdown), offer.reply)) } else { home.offer(offer, at: now) }
        carryOutEffects()
    }
}

/// HTTP2 sees to it that these come once.
private let pseudoHeaders: UInt64 = 1 << RequestField.method.rawValue | 1 << RequestField.path.rawValue

/// Where the token begins after `bearer ` of any case; nil for another scheme, or nothing after it.
func bearerTokenStart(_ header: Span<UInt8>) -> Int? {
    let scheme = Array("bearer ".utf8)
    guard header.count > scheme.count else { return nil }
    for (index, byte) in scheme.enumerated() {
        let isLetter = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(header[index])
        guard (isLetter ? header[index] | 0x20 : header[index]) == byte else { return nil }
    }
    return scheme.count
}

private func deviceToken(_ target: PushRequest.Target) throws(Rejection) -> DeviceToken {
    switch target {
    case .token(let token): return token
    case .badToken: throw .badDeviceToken
    case .missingToken: throw .missingDeviceToken
    }
}
