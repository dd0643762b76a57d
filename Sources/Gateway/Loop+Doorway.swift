import HTTP2
import PushCore
import Reactor
import TLS

// From the first byte to the end of the opening: who goes on, who waits, who makes way
// (docs/decisions/0020-doors.md).
extension Loop {
    // MARK: Room

    /// Whether one more may come to a door. If it is full, the one that was silent longest makes way, or one of the
    /// network that has most waiting.
    func makeRoom(at door: LoopListener.Door) -> Bool {
        let doorway = door.doorway
        return doorways[doorway].count < Limits.waitingAtDoor || endSilence(in: doorway)
            || endExcess(in: doorway)
    }

    /// Counts one more connection among all; if there are as many as may be, another makes way.
    func enter(before door: LoopListener.Door) -> Bool {
        if shared.addresses.enter() { return true }
        if endAnywhere(before: door) { return shared.addresses.enter() }
        // Those that could make way may all be with other loops: they do so for the next one.
        guard now >= nextAppeal else { return false }
        nextAppeal = now + Limits.appealInterval
        for loop in outbox.indices where loop != index {
            post(.perform { _ = $0.endAnywhere(before: door) }, to: loop)
        }
        return false
    }

    /// Closes the connection that was silent longest, if that was too long: at this door, or else at another, for what
    /// is full is no door's own. False if there is none.
    private func endSilenceAnywhere(before door: LoopListener.Door, of network: PeerAddress? = nil) -> Bool {
        endSilence(in: door.doorway, of: network)
            || doorways.indices.contains { $0 != door.doorway && endSilence(in: $0, of: network) }
    }

    private func endSilence(in doorway: Int, of network: PeerAddress? = nil) -> Bool {
        guard let token = doorways[doorway].silentTooLong(of: network, at: now) else { return false }
        shared.metrics.refused(.silence)
        close(token)
        return true
    }

    /// Closes one that could make way for a connection at any door; false if there is none.
    private func endAnywhere(before door: LoopListener.Door) -> Bool {
        if endSilenceAnywhere(before: door) { return true }
        // Where most wait: a storm of devices costs no provider its place.
        let crowded = doorways.indices.sorted { doorways[$0].waitingCount > doorways[$1].waitingCount }
        return crowded.contains { endExcess(in: $0) }
    }

    /// Closes the youngest of the network that has most waiting at a door, if it has more than one.
    private func endExcess(in doorway: Int) -> Bool {
        guard let token = doorways[doorway].excess() else { return false }
        shared.metrics.refused(.handshakes)
        close(token)
        return true
    }

    /// Whether a peer may have one more connection; then it is counted.
    func admit(_ peer: PeerAddress, at door: LoopListener.Door) -> Bool {
        let caller = Caller(peer, isDevice: door == .device)
        var verdict = shared.addresses.admit(caller, at: now)
        if verdict == .tooMany, endSilenceAnywhere(before: door, of: peer.network) {
            verdict = shared.addresses.admit(caller, at: now)
        }
        switch verdict {
        case .admitted: break
        case .dropped:
            shared.metrics.refused(.failures)
            return false
        case .tooMany:
            shared.metrics.refused(.address)
            return false
        }
        // This machine is not a stranger, and all of it has one address.
        let isCrowded = doorways[door.doorway].silentCount(of: peer.network) >= Limits.silentPerAddress
        guard !isCrowded || peer.isLoopback || endSilence(in: door.doorway, of: peer.network) else {
            shared.addresses.dismiss(caller)
            shared.metrics.refused(.silence)
            return false
        }
        return true
    }

    /// Counts a failed connection against its address. If that is dropped, all of it that are not in yet go.
    func failed(_ connection: Connection) {
        let caller = connection.caller
        guard shared.addresses.failed(caller, at: now) else { return }
        shared.log.warning(
            "an address is refused for a while",
            LogField("peer", connection.peer),
            LogField("door", caller.isDevice ? "device" : "provider")
        )
        // With the next turn: the one that failed hears its answer first, and none is closed while its own code runs.
        for loop in outbox.indices { post(.perform { $0.turnAway(caller) }, to: loop) }
    }

    private func turnAway(_ caller: Caller) {
        guard shared.addresses.isDropped(caller, at: now) else { return }
        let doorway = LoopListener.Door.doorway(isDevice: caller.isDevice)
        for token in doorways[doorway].tokens(of: caller.network) {
            shared.metrics.refused(.failures)
            close(token)
        }
    }

    // MARK: Places

    /// Changes a doorway and tells the metrics how many handshakes there are.
    private func change<Result>(_ doorway: Int, _ body: (inout Doorway) -> Result) -> Result {
        let before = doorways[doorway].placeCount
        defer { shared.metrics.openHandshakes.add(doorways[doorway].placeCount - before) }
        return body(&doorways[doorway])
    }

    /// A connection is in, or gone: others may come.
    func leaveDoorway(_ token: UInt64, isDevice: Bool) {
        let place = LoopListener.Door.doorway(isDevice: isDevice)
        change(place) { $0.leave(token) }
        while let next = change(place, { $0.next(at: now) }) {
            guard case .pending(let connection) = connections[next] else { continue }
            connection.isParked = false
            watchReading(connection.stream, next)
            handshakes.add(next)
        }
        resumeListeners()
    }

    /// Takes some steps of handshakes, once a turn has served everyone else.
    func goOnWithHandshakes() {
        guard !handshakes.isEmpty else { return }
        for token in handshakes.take() {
            guard let connection = connections[token] else { continue }
            doorways[LoopListener.Door.doorway(isDevice: connection.isDevice)].hear(token, at: now)
            read(connection)
            endHandshake(token)
        }
        if !handshakes.isEmpty { shared.metrics.delayedHandshakes.add(1) }
        // The turn has written before: a device that got in need not wait for the next.
        flushAnswers()
    }

    /// When TLS is done the place is another's. The connection has yet to say what it wants, and must do so soon.
    private func endHandshake(_ token: UInt64) {
        guard let connection = connections[token], connection.stream.isEstablished else { return }
        let place = LoopListener.Door.doorway(isDevice: connection.isDevice)
        let network = connection.peer.network
        guard doorways[place].hasPlace(token) else { return }
        leaveDoorway(token, isDevice: connection.isDevice)
        guard connection.isSilent else { return }
        if case .provider(let provider) = connection { provider.isAtDoor = true }
        doorways[place].arrive(token, from: network, at: now)
    }

    /// Handshakes that stand still make way for those that wait.
    func endStalledHandshakes() {
        for doorway in doorways {
            for token in doorway.stalled(at: now) {
                guard let connection = connections[token] else { continue }
                if connection.isDevice { shared.metrics.handshake(.timedOut) }
                failed(connection)
                close(token)
            }
        }
        for doorway in doorways.indices { while endOverlong(in: doorway) {} }
    }

    /// Closes a handshake that has had its time, of the network that has most places while another waits. It may be an
    /// honest one, so it does not count as failed.
    private func endOverlong(in doorway: Int) -> Bool {
        guard let token = doorways[doorway].overlong(at: now), let connection = connections[token] else { return false }
        if connection.isDevice { shared.metrics.handshake(.timedOut) }
        close(token)
        return true
    }

    // MARK: The first bytes

    func serve(_ connection: PendingConnection, _ event: Poller.Event) {
        if connection.isParked {
            if event.isHungUp { close(connection.token) }
            return
        }
        guard event.isReadable else { return }
        guard connection.proxyHeader == nil else { return readProxyHeader(connection) }
        let (token, network, doorway) = (connection.token, connection.peer.network, connection.door.doorway)
        if change(doorway, { $0.speak(token, from: network, at: now) }) { return handshakes.add(token) }
        connection.isParked = true
        watchNothing(connection.stream, token)
        _ = endOverlong(in: doorway)
    }

    /// Takes what the balancer says of whom it brings; whoever came without a balancer is refused.
    private func readProxyHeader(_ connection: PendingConnection) {
        do throws(SystemError) {
            while let wanted = connection.proxyHeader?.wanted, let bytes = try connection.stream.readClear(wanted) {
                // A balancer that only looks whether someone is there.
                guard !bytes.isEmpty else { return close(connection.token) }
                do throws(ProxyHeaderError) {
                    guard let header = try connection.proxyHeader?.append(bytes) else { continue }
                    return take(header, connection)
                } catch {
                    return refuseWithoutHeader(connection, error)
                }
            }
        } catch {
            close(connection.token)
        }
    }

    private func take(_ header: ProxyHeader, _ connection: PendingConnection) {
        connection.proxyHeader = nil
        let peer = header.source ?? connection.peer
        // It was silent in the balancer's name; it is so in its own from now on.
        doorways[connection.door.doorway].leave(connection.token)
        guard admit(peer, at: connection.door) else { return close(connection.token) }
        connection.peer = peer
        connection.isCounted = true
        doorways[connection.door.doorway].arrive(connection.token, from: peer.network, at: now)
    }

    private func refuseWithoutHeader(_ connection: PendingConnection, _ error: ProxyHeaderError) {
        shared.metrics.refused(.proxy)
        if proxyLines.admit(at: now) != nil {
            shared.log.warning(
                "a connection without a PROXY header of version 2 is refused",
                LogField("cause", "\(error)"),
                LogField("peer", connection.peer)
            )
        }
        close(connection.token)
    }

    // MARK: TLS

    /// It is this connection's turn, and it has something to say: TLS begins, unless that is something else.
    func begin(_ connection: PendingConnection) {
        do throws(SystemError) {
            // What was ready is gone again only if the kernel found it broken.
            guard let count = try connection.stream.readFirst() else { return }
            guard count > 0 else { return end(connection, isFailure: false) }
            guard buffers.ciphertext[0] == tlsHandshake else {
                shared.metrics.refused(.notTLS)
                return end(connection, isFailure: true)
            }
        } catch {
            return end(connection, isFailure: false)
        }
        let context = connection.door == .device ? contexts.devices[index] : contexts.provider
        do throws(TLSError) {
            connection.stream.begin(try TLSSession(context: context, transport: buffers.transport))
        } catch {
            shared.log.error("cannot begin TLS", LogField("error", error))
            return close(connection.token)
        }
        switch connection.door {
        case .provider, .channels: beginProvider(connection)
        case .device: beginDevice(connection)
        }
    }

    private func beginProvider(_ pending: PendingConnection) {
        do throws(HTTP2Error) {
            let http = try HTTP2Server(fields: fields, limits: HTTP2Limits(), memory: memory)
            let connection = ProviderConnection(
                token: pending.token,
                stream: pending.stream,
                http: http,
                peer: pending.peer,
                config: config,
                at: now
            )
            connection.isForChannels = pending.door == .channels
            connection.timer = pending.timer
            connections.set(.provider(connection), at: pending.token)
            shared.metrics.providerConnections.add(1)
            connection.timer = arm(pending.token, at: now + Limits.handshake, unless: connection.timer)
            read(connection)
        } catch {
            shared.log.error("cannot begin HTTP/2", LogField("error", error))
            close(pending.token)
        }
    }

    private func beginDevice(_ pending: PendingConnection) {
        let connection = DeviceConnection(
            token: pending.token,
            stream: pending.stream,
            peer: pending.peer,
            config: config,
            at: now
        )
        connection.timer = pending.timer
        connections.set(.device(connection), at: pending.token)
        connection.timer = arm(pending.token, at: now + Limits.handshake, unless: connection.timer)
        read(connection)
    }

    private func end(_ connection: PendingConnection, isFailure: Bool) {
        if connection.door == .device { shared.metrics.handshake(.tlsFailed) }
        if isFailure { failed(.pending(connection)) }
        close(connection.token)
    }

    // MARK: Time

    /// It has said nothing, or has waited in vain: the time for that is over.
    func timer(_ connection: PendingConnection) {
        if connection.isParked {
            shared.metrics.refused(.handshakes)
        } else if connection.proxyHeader != nil {
            shared.metrics.refused(.proxy)
        } else {
            if connection.door == .device { shared.metrics.handshake(.timedOut) }
            failed(.pending(connection))
        }
        close(connection.token)
    }
}

extension Connection {
    /// Whether it has TLS and has not said what it wants.
    fileprivate var isSilent: Bool {
        switch self {
        case .pending: false
        case .provider(let connection): !connection.http.hasBegun
        case .device(let connection): if case .opening = connection.phase { true } else { false }
        }
    }
}

/// What a TLS connection begins with: a record of the handshake (RFC 8446 5.1).
private let tlsHandshake: UInt8 = 22
