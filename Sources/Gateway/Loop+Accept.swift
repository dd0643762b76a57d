import HTTP2
import PushCore
import Reactor
import TLS

/// A listening socket of one loop.
final class LoopListener: Sendable {
    /// Who comes in by the socket.
    enum Door: Sendable {
        case channels
        case provider
        case device
    }

    let door: Door
    let socket: Listener

    init(_ socket: consuming Listener, _ door: Door) {
        self.socket = socket
        self.door = door
    }
}

// New connections: taken while the bounds allow.
extension Loop {
    func accept(from place: Int) {
        let door = listeners[place].door
        for _ in 0..<Limits.acceptsPerTurn {
            if door == .device, openingCount >= config.limitsHandshakes { return pause(place) }
            do throws(SystemError) {
                guard let accepted = try listeners[place].socket.accept() else { return }
                let peer = accepted.peer
                // While draining a connection is taken only to be closed: what waits would keep the loop awake.
                if !isRefusing { open(accepted.takeDescriptor(), peer, door) }
            } catch {
                shared.log.warning("cannot accept connections for now", LogField("error", error))
                return pause(place)
            }
        }
    }

    /// Takes a connection that has come in by a door.
    func open(_ descriptor: consuming FileDescriptor, _ peer: PeerAddress, _ door: LoopListener.Door) {
        guard connections.count < connectionLimit, shared.addresses.admit(peer) else {
            shared.metrics.refusedConnections.add(1)
            return
        }
        let context = door == .device ? contexts.devices[index] : contexts.provider
        let number = descriptor.number
        do throws(TLSError) {
            let tls = try TLSSession(context: context, transport: buffers.transport)
            let stream = SecureStream(descriptor, tls: tls, buffers: buffers)
            let token = connections.reserve()
            switch door {
            case .provider, .channels: openProvider(token, stream, peer, door)
            case .device: openDevice(token, stream, peer)
            }
            watch(number, token)
        } catch {
            shared.addresses.left(peer)
            shared.log.error("cannot begin TLS", LogField("error", error))
        }
    }

    private func openProvider(
        _ token: UInt64,
        _ stream: SecureStream,
        _ peer: PeerAddress,
        _ door: LoopListener.Door
    ) {
        do throws(HTTP2Error) {
            let http = try HTTP2Server(fields: fields, limits: HTTP2Limits(), memory: memory)
            let connection = ProviderConnection(
                token: token,
                stream: stream,
                http: http,
                peer: peer,
                config: config,
                at: now
            )
            connection.isForChannels = door == .channels
            connections.set(.provider(connection), at: token)
            shared.metrics.providerConnections.add(1)
            connection.timer = arm(token, at: now + Limits.handshake, unless: connection.timer)
        } catch {
            shared.log.error("cannot begin HTTP/2", LogField("error", error))
        }
    }

    private func openDevice(_ token: UInt64, _ stream: SecureStream, _ peer: PeerAddress) {
        let connection = DeviceConnection(token: token, stream: stream, peer: peer, config: config, at: now)
        connections.set(.device(connection), at: token)
        openingCount += 1
        connection.timer = arm(token, at: now + Limits.handshake, unless: connection.timer)
    }

    private func watch(_ number: Int32, _ token: UInt64) {
        do throws(SystemError) {
            try poller.add(number, token: token, for: .read)
        } catch {
            shared.log.error("cannot watch a connection", LogField("error", error))
            close(token)
        }
    }

    /// Stops taking connections at a listener until `resumeListeners`.
    private func pause(_ place: Int) {
        // Failing to change what is watched leaves the listener ready: the next turn tries again.
        try? poller.change(listeners[place].socket.number, token: UInt64(place + 1), for: [])
        pausedListeners.insert(place)
    }

    /// Takes connections again once there is room.
    func resumeListeners() {
        guard !pausedListeners.isEmpty, openingCount < config.limitsHandshakes, !isRefusing else { return }
        for place in pausedListeners {
            // As above.
            try? poller.change(listeners[place].socket.number, token: UInt64(place + 1), for: .read)
        }
        pausedListeners.removeAll()
    }

    /// Connections one of so many loops may hold: its share of the setting, or of what the open-file limit allows.
    static func connectionLimit(_ config: Config, loops: Int) -> Int {
        let all = config.limitsConnections
        let limit = all > 0 ? all : max(64, Machine.openFileLimit().soft - 256)
        return max(1, limit / loops)
    }

    // MARK: Events

    func serve(_ event: Poller.Event) {
        guard let connection = connections[event.token] else { return }
        if case .device(let device) = connection, device.isMuted, event.isHungUp { return close(event.token) }
        if event.isWritable {
            do throws(StreamFailure) {
                try connection.stream.flush()
                if case .device(let device) = connection { roomChanged(device) }
                let isMuted = if case .device(let device) = connection { device.isMuted } else { false }
                if connection.stream.unsentCount == 0, !isMuted { watchReading(connection.stream, event.token) }
            } catch {
                return close(event.token)
            }
        }
        guard event.isReadable, connections[event.token] != nil else { return }
        if connection.isOpening { handshakes.add(event.token) } else { read(connection) }
    }

    private func read(_ connection: Connection) {
        switch connection {
        case .provider(let provider): read(provider)
        case .device(let device): read(device)
        }
    }

    /// Takes some steps of handshakes, once a turn has served everyone else.
    func goOnWithHandshakes() {
        guard !handshakes.isEmpty else { return }
        for token in handshakes.take() {
            if let connection = connections[token] { read(connection) }
        }
        if !handshakes.isEmpty { shared.metrics.delayedHandshakes.add(1) }
        // The turn has written before: a device that got in need not wait for the next.
        flushAnswers()
    }

    /// Waits for the socket to take more, and reads nothing meanwhile: who does not read is not read.
    func watchWriting(_ stream: SecureStream, _ token: UInt64) {
        // A failure here means that the descriptor is gone; its next event closes it.
        try? poller.change(stream.descriptor.number, token: token, for: .write)
    }

    func watchReading(_ stream: SecureStream, _ token: UInt64) {
        // As above.
        try? poller.change(stream.descriptor.number, token: token, for: .read)
    }

    /// Forgets a connection and closes its socket.
    func close(_ token: UInt64) {
        guard let connection = connections[token] else { return }
        poller.remove(connection.stream.descriptor.number)
        connections.remove(token)
        shared.addresses.left(connection.peer)
        switch connection {
        case .provider(let provider):
            shared.metrics.providerConnections.add(-1)
            for place in provider.places() { _ = provider.take(place) }
        case .device(let device):
            switch device.phase {
            case .opening: openingEnded()
            case .session(let state, let link): home.closeSession(state, link, at: now)
            case .leaving: break
            }
            device.phase = .leaving
        }
    }

    func openingEnded() {
        openingCount -= 1
        resumeListeners()
    }
}
