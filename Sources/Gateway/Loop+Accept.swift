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

        /// The doorway that leads there: devices have their own, so that a storm of theirs holds no provider up.
        var doorway: Int { Self.doorway(isDevice: self == .device) }

        static func doorway(isDevice: Bool) -> Int { isDevice ? 1 : 0 }
    }

    let door: Door
    let socket: Listener

    init(_ socket: consuming Listener, _ door: Door) {
        self.socket = socket
        self.door = door
    }
}

// New connections: taken while the bounds allow, and watched until they say something.
extension Loop {
    func accept(from place: Int) {
        let door = listeners[place].door
        for _ in 0..<Limits.acceptsPerTurn {
            guard makeRoom(at: door) else { return pause(place) }
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
        guard enter(before: door) else { return shared.metrics.refused(.connections) }
        let isProxied = door == .device ? config.deviceProxy : config.providerProxy
        // Behind a balancer everyone has its address; whose it is comes with its header.
        guard isProxied || admit(peer, at: door) else { return shared.addresses.leave(nil, at: now) }
        let number = descriptor.number
        let token = connections.reserve()
        let stream = SecureStream(descriptor, buffers: buffers)
        let connection = PendingConnection(token: token, stream: stream, door: door, peer: peer)
        connection.isCounted = !isProxied
        if isProxied { connection.proxyHeader = ProxyHeaderDecoder() }
        connections.set(.pending(connection), at: token)
        doorways[door.doorway].arrive(token, from: peer.network, at: now)
        connection.timer = arm(token, at: now + Limits.handshake, unless: connection.timer)
        watch(number, token)
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

    /// Takes connections again where there is room.
    func resumeListeners() {
        guard !pausedListeners.isEmpty, !isRefusing else { return }
        for place in pausedListeners where makeRoom(at: listeners[place].door) {
            // As above.
            try? poller.change(listeners[place].socket.number, token: UInt64(place + 1), for: .read)
            pausedListeners.remove(place)
        }
    }

    // MARK: Events

    func serve(_ event: Poller.Event) {
        switch connections[event.token] {
        case .pending(let connection): return serve(connection, event)
        case .device(let device) where device.isMuted && event.isHungUp: return close(event.token)
        // It has said all it has to say, and now it does not listen either.
        case .provider(let provider) where provider.hasEnded && event.isHungUp: return close(event.token)
        case .provider, .device: break
        case nil: return
        }
        if event.isWritable { guard flush(event.token) else { return } }
        guard event.isReadable, let connection = connections[event.token] else { return }
        if connection.isOpening { handshakes.add(event.token) } else { read(connection) }
    }

    /// Writes what the socket did not take before. False if that was all there is to do.
    private func flush(_ token: UInt64) -> Bool {
        guard let connection = connections[token] else { return false }
        do throws(StreamFailure) { try connection.stream.flush() } catch {
            close(token)
            return false
        }
        switch connection {
        case .device(let device):
            roomChanged(device)
            if device.stream.unsentCount == 0, !device.isMuted { watchReading(device.stream, token) }
        case .provider(let provider) where provider.hasEnded:
            if provider.stream.unsentCount == 0 { finish(provider) }
            return false
        case .provider(let provider):
            if provider.stream.unsentCount == 0 { watchReading(provider.stream, token) }
        case .pending: break
        }
        return connections[token] != nil
    }

    func read(_ connection: Connection) {
        switch connection {
        case .pending(let pending): begin(pending)
        case .provider(let provider): read(provider)
        case .device(let device): read(device)
        }
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

    /// Looks at a socket no more, but for its end: who waits, or has said all it has to say, is not read.
    func watchNothing(_ stream: SecureStream, _ token: UInt64) {
        // As above.
        try? poller.change(stream.descriptor.number, token: token, for: [])
    }

    /// Forgets a connection and closes its socket.
    func close(_ token: UInt64) {
        guard let connection = connections[token] else { return }
        poller.remove(connection.stream.descriptor.number)
        connections.remove(token)
        shared.addresses.leave(connection.isCounted ? connection.caller : nil, wasIn: connection.isIn, at: now)
        switch connection {
        case .pending: break
        case .provider(let provider):
            shared.metrics.providerConnections.add(-1)
            for place in provider.places() { _ = provider.take(place) }
        case .device(let device):
            if case .session(let state, let link) = device.phase { home.closeSession(state, link, at: now) }
            device.phase = .leaving
        }
        leaveDoorway(token, isDevice: connection.isDevice)
    }
}
