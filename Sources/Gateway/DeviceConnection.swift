import PushCore
import Reactor
import Wire

/// One device's connection: TLS bytes in, frames out, and how far it has come.
final class DeviceConnection {
    /// How far the connection has come.
    enum Phase {
        /// TLS, then the Connect.
        case opening
        /// Handed to its home, or refused: whatever comes now is dropped.
        case leaving
        case session(DeviceState, SessionLink)
    }

    let token: UInt64
    let stream: SecureStream
    let peer: PeerAddress
    let acceptedAt: Moment
    var decoder = FrameDecoder(frameLimit: Limits.frameBeforeConnect)
    var phase = Phase.opening
    var isExtended = false
    /// Whether it has frames to write; it is then among the loop's dirty connections.
    var isDirty = false
    var timer = Moment.distantFuture
    var lastHeard: Moment
    /// How long it may be silent.
    var idleLimit: Interval
    /// What its last Filter says, also about topics it has no registration for yet.
    var filter: [TopicHash: TopicMode] = [:]
    /// A registration of this device is being made durable: its next command waits (docs/device-protocol.md).
    var isWaitingForStore = false
    /// Frames to write this turn.
    var output: [UInt8] = []
    private var held: [(frame: [UInt8], pausesAfter: Bool)] = []
    private var holdUntil = Moment(nanoseconds: 0)

    init(token: UInt64, stream: SecureStream, peer: PeerAddress, config: Config, at now: Moment) {
        self.token = token
        self.stream = stream
        self.peer = peer
        acceptedAt = now
        lastHeard = now
        idleLimit = config.deviceIdleTimeout
    }

    var link: SessionLink? {
        if case .session(_, let link) = phase { link } else { nil }
    }

    /// Whether its next command must wait: for the store, or because enough answers wait for a pause to end.
    var mustWait: Bool { isWaitingForStore || held.count >= Limits.heldAnswers }
    /// Its socket is not read, because enough of its commands wait.
    var isMuted = false

    /// When `release` has something to do next.
    var holdEnds: Moment? { held.isEmpty ? nil : holdUntil }

    /// Queues an answer behind what is held; a pause follows the acknowledgements that clients wait for.
    func say(_ message: ServerMessage, at now: Moment) {
        let pauses =
            switch message {
            case .connectAck, .tokenAck, .keepAliveAck: !isExtended
            default: false
            }
        var frame: [UInt8] = []
        message.encode(into: &frame)
        held.append((frame, pauses))
        release(at: now)
    }

    /// Frames a notification, behind what is held.
    func notify(_ notification: Notify, at now: Moment) {
        if held.isEmpty, holdUntil <= now { return notification.encode(into: &output) }
        var frame: [UInt8] = []
        notification.encode(into: &frame)
        held.append((frame, false))
    }

    /// Moves what may go now to the output. Nothing follows an acknowledgement in the same read of the device.
    func release(at now: Moment) {
        while holdUntil <= now, !held.isEmpty {
            let next = held.removeFirst()
            output += next.frame
            if next.pausesAfter { holdUntil = now + Limits.pauseAfterAck }
        }
    }

    /// Tells the session's home how much may be framed.
    func updateRoom() {
        guard let link else { return }
        let waiting = held.reduce(0) { $0 + $1.frame.count }
        link.room = max(0, Limits.unsentBytes - output.count - stream.unsentCount - waiting)
    }
}
