import PushCore
import Reactor
import Wire

/// One device's connection: TLS bytes in, frames out, and how far it has come.
final class DeviceConnection {
    /// How far the connection has come.
    enum Phase {
        /// TLS, then the Connect.
        case opening(since: Moment)
        /// Handed to its home, or refused: whatever comes now is dropped.
        case leaving
        case session(DeviceState, SessionLink)
    }

    // Ordered so that it fits the next smaller size of the allocator: there is one per session.
    let token: UInt64
    let stream: SecureStream
    let peer: PeerAddress
    var decoder = FrameDecoder(frameLimit: Limits.frameBeforeConnect)
    var phase: Phase
    var isExtended = false
    /// Its Connect was accepted, whatever became of the session.
    var isIn = false
    /// Whether it has frames to write; it is then among the loop's dirty connections.
    var isDirty = false
    /// A registration of this device is being made durable: its next command waits (docs/device-protocol.md).
    var isWaitingForStore = false
    /// Its socket is not read, because enough of its commands wait.
    var isMuted = false
    var timer = Moment.distantFuture
    var lastHeard: Moment
    /// How long it may be silent.
    var idleLimit: Interval
    /// Frames to write this turn, and notifications to frame behind them.
    private var output: [UInt8] = []
    var notifications: [OutgoingNotification] = []
    private var held: [(frame: [UInt8], pausesAfter: Bool)] = []
    /// The end of a pause; not known before what it follows is written.
    private var holdUntil = Moment(nanoseconds: 0)

    init(token: UInt64, stream: SecureStream, peer: PeerAddress, config: Config, at now: Moment) {
        self.token = token
        self.stream = stream
        self.peer = peer
        phase = .opening(since: now)
        lastHeard = now
        idleLimit = config.deviceIdleTimeout
    }

    var link: SessionLink? {
        if case .session(_, let link) = phase { link } else { nil }
    }

    /// Whether its next command must wait: for the store, or because enough answers wait for a pause to end.
    var mustWait: Bool { isWaitingForStore || held.count >= Limits.heldAnswers }

    /// The clock was set back: what is timed goes on as it would have.
    func goBack(by interval: Interval) {
        timer = timer - interval
        lastHeard = lastHeard - interval
        // What has no end yet must still be known by that.
        if holdUntil != .distantFuture { holdUntil = holdUntil - interval }
        switch phase {
        case .opening(let start): phase = .opening(since: start - interval)
        case .leaving: break
        case .session(let device, _): device.queue.goBack(by: interval)
        }
    }

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

    /// Takes a notification, behind what is held.
    func notify(_ notification: OutgoingNotification, at now: Moment) {
        if held.isEmpty, holdUntil <= now { return notifications.append(notification) }
        var frame: [UInt8] = []
        notification.encode(into: &frame, isExtended: isExtended)
        held.append((frame, false))
    }

    /// Moves what may go now to the output. Nothing follows an acknowledgement in the same read of the device.
    func release(at now: Moment) {
        while holdUntil <= now, !held.isEmpty {
            frameNotifications(into: &output)
            let next = held.removeFirst()
            output += next.frame
            if next.pausesAfter { holdUntil = .distantFuture }
        }
        // A sleeping session owns no buffer.
        if held.isEmpty { held = [] }
    }

    /// Whether there is something to write.
    var hasOutput: Bool { !output.isEmpty || !notifications.isEmpty }

    /// Whether frames wait that answer the device: they are written in this turn, whatever notifications do.
    var hasAnswers: Bool { !output.isEmpty }

    /// Appends what is to be written, and forgets it. A pause behind it begins now.
    func takeOutput(into plain: inout [UInt8], at now: Moment) {
        if holdUntil == .distantFuture { holdUntil = now + Limits.pauseAfterAck }
        plain += output
        output = []
        frameNotifications(into: &plain)
    }

    private func frameNotifications(into frames: inout [UInt8]) {
        for notification in notifications { notification.encode(into: &frames, isExtended: isExtended) }
        notifications.removeAll(keepingCapacity: true)
    }

    /// Tells the session's home how much may be framed.
    func updateRoom() {
        guard let link else { return }
        var waiting = held.reduce(output.count + stream.unsentCount) { $0 + $1.frame.count }
        waiting = notifications.reduce(waiting) { $0 + $1.queued.push.content.payloadCount + Limits.frameOverhead }
        link.room = max(0, Limits.unsentBytes - waiting)
    }
}

/// A notification on its way to a connection. It is framed when the connection is written, straight into the loop's
/// buffer: framed earlier, its bytes would leave the processor's cache before they are encrypted.
struct OutgoingNotification {
    let queued: QueuedPush
    let flag: StorageFlag
    let route: NotifyRoute

    func encode(into frames: inout [UInt8], isExtended: Bool) {
        let push = queued.push
        let content = NotifyContent(
            push.content,
            messageID: push.messageID,
            expiry: UInt32(clamping: push.expires.seconds),
            timestamp: UInt64(max(push.acceptedAt.nanoseconds, 0)),
            storageFlags: flag.rawValue,
            priority: push.priority.rawValue,
            uniqueID: push.uniqueID,
            pushType: push.type?.rawValue
        )
        frames.appendNotify(content, route, isExtended: isExtended)
    }
}
