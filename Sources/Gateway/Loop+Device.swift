import PushCore
import Reactor
import Storage
import TLS
import Wire

// The device's wire: Connect and hand-over, then commands in, frames out.
extension Loop {
    func read(_ connection: DeviceConnection) {
        do throws(StreamFailure) {
            for _ in 0..<Limits.readsPerTurn {
                switch try connection.stream.read() {
                case .wouldBlock: return
                case .ended: return ended(connection)
                case .plain(let count, let mayContinue):
                    connection.lastHeard = now
                    if case .leaving = connection.phase { return }
                    let plain = buffers.transport.plaintext
                    if count > 0 {
                        connection.decoder.append(plain.span.extracting(0..<count), lending: &buffers.commands)
                    }
                    obey(connection)
                    connection.decoder.takeBack(&buffers.commands)
                    if mute(connection) { return }
                    guard mayContinue, connections[connection.token] != nil else { return }
                }
            }
        } catch {
            ended(connection)
        }
    }

    /// Stops reading a device that sends on while enough of its commands wait. True if it did.
    private func mute(_ connection: DeviceConnection) -> Bool {
        guard connection.mustWait, connection.decoder.bufferedCount > Limits.waitingCommands else { return false }
        connection.isMuted = true
        // A failure here means that the descriptor is gone; its next event closes it.
        try? poller.change(connection.stream.descriptor.number, token: connection.token, for: [])
        return true
    }

    /// Goes on with commands that had to wait, and with reading, once they need not.
    func resume(_ connection: DeviceConnection) {
        obey(connection)
        guard connection.isMuted, !connection.mustWait, connections[connection.token] != nil else { return }
        connection.isMuted = false
        watchReading(connection.stream, connection.token)
    }

    private func ended(_ connection: DeviceConnection) {
        if case .opening = connection.phase, !connection.stream.isEstablished { fail(connection, .tlsFailed) }
        close(connection.token)
    }

    /// Obeys the commands that have come, one after the other, until one must wait for the store.
    func obey(_ connection: DeviceConnection) {
        do throws(WireError) {
            while !connection.mustWait, !connection.stream.isEnding, connections[connection.token] != nil,
                let message = try connection.decoder.next()
            {
                switch connection.phase {
                case .opening:
                    guard open(connection, message) else { return }
                case .session(let device, let link):
                    if !home.plannedFaults.isEmpty, isFaultPlanned(for: device) { return fault(connection, "planned") }
                    obey(message, connection, device, link)
                case .leaving: return
                }
            }
        } catch {
            fault(connection, "\(error)")
        }
    }

    /// Ends a connection that broke the protocol, and no other; a device that does so again and again is kept out.
    func fault(_ connection: DeviceConnection, _ error: String) {
        shared.log.debug(
            "device broke the protocol",
            LogField("peer", connection.peer),
            LogField("error", error)
        )
        switch connection.phase {
        case .opening: fail(connection, .malformed)
        case .session(let device, _):
            shared.metrics.deviceFaults.add(1)
            if let id = device.record?.id, home.quarantine.fault(id, at: now) {
                shared.log.warning(
                    "a device is kept out for a while",
                    LogField("device", id),
                    LogField("peer", connection.peer),
                    LogField("error", error)
                )
            }
        case .leaving: break
        }
        end(connection)
    }

    private func isFaultPlanned(for device: DeviceState) -> Bool {
        guard let id = device.record?.id, let left = home.plannedFaults[id] else { return false }
        home.plannedFaults[id] = left > 1 ? left - 1 : nil
        return true
    }

    // MARK: Connect

    /// The first frame. False when the connection has left this loop or is ending.
    private func open(_ connection: DeviceConnection, _ message: DeviceMessage) -> Bool {
        guard case .connect(let connect) = message else {
            refuse(connection, .malformed)
            return false
        }
        connection.isExtended = connection.stream.tls.alpn == DeviceProtocol.extended
        let proven: DeviceProof.Proven
        do throws(DeviceProof.Failure) {
            proven = try proof.prove(connect, over: connection.stream.tls, at: now)
        } catch {
            refuse(connection, error.cause)
            return false
        }
        let isAwake = (connect.state ?? 1) == 1
        let home = loop(of: proven.device.bucket)
        if home == index {
            admit(connection, proven.device, nonce: proven.nonce, isAwake: isAwake)
            return true
        }
        handOver(connection, proven, isAwake: isAwake, to: home)
        return false
    }

    /// A connection moves once, with its TLS session and the bytes that came after the Connect.
    private func handOver(_ connection: DeviceConnection, _ proven: DeviceProof.Proven, isAwake: Bool, to home: Int) {
        poller.remove(connection.stream.descriptor.number)
        connections.remove(connection.token)
        connection.phase = .leaving
        leaveDoorway(connection.token, isDevice: true)
        let (descriptor, tls, unsent) = connection.stream.park()
        connection.decoder.takeBack(&buffers.commands)
        let device = ProvenDevice(
            descriptor: descriptor,
            tls: tls,
            unsent: unsent,
            peer: connection.peer,
            device: proven.device,
            nonce: proven.nonce,
            isAwake: isAwake,
            isExtended: connection.isExtended,
            decoder: connection.decoder
        )
        post(.device(device), to: home)
    }

    /// A device that has proved its key on another loop comes home.
    func adopt(_ device: ProvenDevice) {
        let tls = TLSSession(resuming: device.tls, context: contexts.devices[index], transport: buffers.transport)
        let descriptor = FileDescriptor(owning: device.descriptor)
        let number = descriptor.number
        let stream = SecureStream(descriptor, tls: tls, buffers: buffers, unsent: device.unsent)
        let token = connections.reserve()
        let connection = DeviceConnection(
            token: token,
            stream: stream,
            peer: device.peer,
            config: config,
            at: now
        )
        connection.decoder = device.decoder
        connection.isExtended = device.isExtended
        connections.set(.device(connection), at: token)
        do throws(SystemError) { try poller.add(number, token: token, for: .read) } catch { return close(token) }
        admit(connection, device.device, nonce: device.nonce, isAwake: device.isAwake)
        obey(connection)
    }

    /// At home: is the device enrolled, and is this Connect new?
    private func admit(_ connection: DeviceConnection, _ id: DeviceID, nonce: ConnectNonce, isAwake: Bool) {
        let link = SessionLink(connection: connection.token, connectedAt: now)
        do throws(Home.Refusal) {
            guard !isRefusing else { return end(connection) }
            let device = try home.openSession(id, link, isAwake: isAwake, nonce: nonce)
            connection.phase = .session(device, link)
            connection.decoder.frameLimit = Limits.frame
            // The Connect is proven and the session at home: OpenSSL has nothing more to tell.
            connection.stream.detach()
            shared.metrics.handshake(.accepted)
            connection.isIn = true
            shared.addresses.succeeded(Caller(connection.peer, isDevice: true))
            leaveDoorway(connection.token, isDevice: true)
            say(connectAck(status: 0, token: device.record?.baseToken.bytes ?? [], reason: nil), connection)
            carryOutEffects()
        } catch {
            switch error {
            case .notEnrolled: refuse(connection, .notEnrolled)
            case .replayed: refuse(connection, .replayedNonce)
            case .quarantined(let left): refuse(connection, .quarantined, retry: left)
            }
        }
    }

    /// Status 2 with every item that clients insist on, then FIN.
    private func refuse(_ connection: DeviceConnection, _ cause: Metrics.Handshake, retry: Interval? = nil) {
        fail(connection, cause)
        shared.log.info("device refused", LogField("cause", cause.rawValue), LogField("peer", connection.peer))
        let none = [UInt8](repeating: 0, count: DeviceToken.usualCount)
        let reason = connection.isExtended ? cause.rawValue : nil
        say(connectAck(status: 2, token: none, reason: reason, retry: connection.isExtended ? retry : nil), connection)
        end(connection)
    }

    /// Counts an opening that came to nothing, for the metrics and against its address.
    private func fail(_ connection: DeviceConnection, _ cause: Metrics.Handshake) {
        shared.metrics.handshake(cause)
        failed(.device(connection))
    }

    private func connectAck(
        status: UInt8,
        token: [UInt8],
        reason: String?,
        retry: Interval? = nil
    ) -> ServerMessage {
        .connectAck(
            ConnectAck(
                status: status,
                token: token,
                reason: reason,
                retrySeconds: retry.map { UInt32(clamping: $0.milliseconds / 1000 + 1) },
                serverTimeMilliseconds: UInt64(max(now.milliseconds, 0))
            )
        )
    }

    // MARK: Frames out

    func say(_ message: ServerMessage, _ connection: DeviceConnection) {
        connection.say(message, at: now)
        markDirty(connection)
        rearm(connection)
    }

    /// Takes a push for a session of this loop; it is framed when the session is written.
    func notify(_ token: UInt64, _ notification: OutgoingNotification) {
        guard case .device(let connection) = connections[token] else { return }
        if connection.notifications.capacity == 0 { connection.notifications = buffers.borrow() }
        connection.notify(notification, at: now)
        markDirty(connection)
    }

    /// A registration was taken away: extended clients are told.
    func tokenGone(_ link: SessionLink, _ registration: RegistrationState) {
        guard case .device(let connection) = connections[link.connection], connection.isExtended else { return }
        let hash = topicHash(registration.record.topic)
        say(.tokenGone(hash: hash, token: registration.record.token.bytes), connection)
    }

    func endSession(_ link: SessionLink, reason: StaticString) {
        guard case .device(let connection) = connections[link.connection] else { return }
        shared.log.debug("device session ends", LogField("reason", "\(reason)"), LogField("peer", connection.peer))
        end(connection)
    }

    /// Says what is left to say, then FIN. The session is over for its home at once.
    func end(_ connection: DeviceConnection) {
        guard !connection.stream.isEnding else { return }
        switch connection.phase {
        case .opening: leaveDoorway(connection.token, isDevice: true)
        case .session(let device, let link): home.closeSession(device, link, at: now)
        case .leaving: break
        }
        connection.phase = .leaving
        if connection.stream.isEstablished {
            connection.takeOutput(into: &buffers.plain, at: shared.clock.now())
            write(connection.stream, connection.token)
        }
        guard connections[connection.token] != nil else { return }
        leave(connection.stream, connection.token)
    }

    /// The socket took more: more may be framed.
    func roomChanged(_ connection: DeviceConnection) {
        connection.updateRoom()
        guard case .session(let device, _) = connection.phase else { return }
        home.pump(device, at: now)
        carryOutEffects()
    }

    // MARK: Time

    func timer(_ connection: DeviceConnection) {
        switch connection.phase {
        case .leaving: return close(connection.token)
        case .opening(let start):
            if now - start >= Limits.handshake {
                fail(connection, .timedOut)
                return end(connection)
            }
        case .session(let device, _):
            if now - connection.lastHeard >= connection.idleLimit { return end(connection) }
            connection.release(at: now)
            if connection.hasOutput { markDirty(connection) }
            connection.updateRoom()
            resume(connection)
            home.tick(device, at: now)
            carryOutEffects()
        }
        rearm(connection)
    }

    func rearm(_ connection: DeviceConnection) {
        guard connections[connection.token] != nil else { return }
        var next: Moment
        switch connection.phase {
        case .leaving: return
        case .opening(let start): next = start + Limits.handshake
        case .session(let device, _):
            next = connection.lastHeard + connection.idleLimit
            if let deadline = device.queue.nextDeadline(after: now) { next = min(next, deadline) }
            if let ends = connection.holdEnds { next = min(next, ends) }
        }
        connection.timer = arm(connection.token, at: next, unless: connection.timer)
    }
}
