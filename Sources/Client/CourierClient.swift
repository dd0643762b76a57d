import PushCore
import Reactor
import TLS
import Wire

/// A device: connects, registers its topics, acknowledges what comes, and connects again when the connection ends.
package final class CourierClient {
    private let configuration: CourierConfiguration
    private let credentials: CourierCredentials
    private let context: TLSContext
    private let transport = TLSTransport()
    private var conversation: CourierConversation
    /// What the last connection left to resume its TLS session with.
    private var ticket: TLSTicket?
    private var backoff = CourierBackoff()
    private var gatewayTime = GatewayTime()
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// How often `until` is asked, also while nothing happens.
    private static let turnMilliseconds: Int32 = 100

    /// Throws when a key or certificate cannot be used.
    package init(configuration: CourierConfiguration) throws(CourierError) {
        self.configuration = configuration
        let protocols = (configuration.extended ? [DeviceProtocol.extended] : []) + [DeviceProtocol.plain]
        credentials = try secure { () throws(TLSError) in try CourierCredentials(configuration.identity) }
        context = try secure { () throws(TLSError) in
            try TLSContext.client(caPEM: configuration.caPEM, alpn: protocols)
        }
        conversation = CourierConversation(topics: configuration.topics, acknowledges: configuration.acknowledges)
    }

    /// Is a device on this thread, for as long as `until` is false. No failure ends it: each becomes an event.
    package func run(until: () -> Bool, onEvent: (CourierEvent) -> Void) {
        while !until() {
            let start = Clock.monotonic()
            do {
                try connection(until, onEvent)
            } catch {
                let wait = backoff.next(
                    afterNanoseconds: Clock.monotonic() - start,
                    hint: error.retrySeconds,
                    chance: Double.random(in: 0..<1)
                )
                onEvent(.disconnected(reason: error.description, retrySeconds: wait))
                pause(seconds: wait, until)
            }
        }
    }

    /// One connection, from its first byte until it fails or `until` is true.
    private func connection(_ until: () -> Bool, _ onEvent: (CourierEvent) -> Void) throws(CourierError) {
        let link = try dial()
        defer { ticket = link.ticket }
        var pulse = CourierPulse(at: Clock.monotonic())
        var hasConnected = false
        var isWatchingWrites = false
        var poller = try system { () throws(SystemError) in try Poller(batch: 1) }
        try system { () throws(SystemError) in try poller.add(link.number, token: 0, for: .read) }
        while !until() {
            let ready = try system { () throws(SystemError) in try poller.wait(milliseconds: Self.turnMilliseconds) }
            if ready > 0 { try link.receive(using: &buffer) }
            if link.isEstablished && !hasConnected {
                hasConnected = true
                let time = gatewayTime.milliseconds(at: Clock.wall())
                try link.connect(credentials, baseToken: conversation.baseToken, milliseconds: time)
            }
            try read(link, &pulse, onEvent)
            try keepUp(link, &pulse)
            if link.hasUnsent != isWatchingWrites {
                isWatchingWrites = link.hasUnsent
                let interest: Poller.Interest = isWatchingWrites ? [.read, .write] : .read
                try system { () throws(SystemError) in try poller.change(link.number, token: 0, for: interest) }
            }
        }
        link.close()
    }

    private func dial() throws(CourierError) -> CourierLink {
        // Looked up each time: a gateway may have moved.
        let destination = try system { () throws(SystemError) in
            try Destination(host: configuration.host, port: configuration.port)
        }
        let link = try SecureLink(to: destination, context: context, transport: transport, resuming: ticket)
        return CourierLink(link)
    }

    /// Takes every frame that is there and answers them all with one write.
    private func read(
        _ link: CourierLink,
        _ pulse: inout CourierPulse,
        _ onEvent: (CourierEvent) -> Void
    ) throws(CourierError) {
        var answers: [UInt8] = []
        var failure: CourierError?
        do {
            while let message = try link.next() {
                pulse.heard()
                if let event = try event(of: conversation.receive(message, answers: &answers)) { onEvent(event) }
            }
        } catch {
            failure = error
        }
        // Also before a goodbye: what was handed to the caller is acknowledged.
        if !answers.isEmpty { try link.send(answers) }
        if let failure { throw failure }
        if link.hasEnded { throw .closed }
    }

    private func keepUp(_ link: CourierLink, _ pulse: inout CourierPulse) throws(CourierError) {
        switch pulse.check(at: Clock.monotonic()) {
        case .nothing:
            if link.hasUnsent { try link.flush() }
        case .sendKeepAlive:
            var frames: [UInt8] = []
            conversation.keepAlive(intervalMinutes: CourierPulse.intervalMinutes, into: &frames)
            try link.send(frames)
        case .giveUp:
            throw .silent
        }
    }

    private func event(of outcome: CourierConversation.Outcome) throws(CourierError) -> CourierEvent? {
        switch outcome {
        case .nothing:
            return nil
        case .connected(let ack):
            gatewayTime.follow(ack, at: Clock.wall())
            return .connected(baseToken: hexadecimal(conversation.baseToken ?? []))
        case .refused(let ack):
            gatewayTime.follow(ack, at: Clock.wall())
            throw .refused(reason: ack.reason ?? "status \(ack.status)", retrySeconds: ack.retrySeconds)
        case .token(let topic, let token):
            return .token(topic: topic, token: hexadecimal(token))
        case .topicRefused(let topic, let reason):
            return .refused(topic: topic, reason: reason)
        case .notification(let notify):
            return .notification(CourierNotification(notify, topic: conversation.name(of: notify.topicHash)))
        case .goodbye(let reason, let retrySeconds):
            throw .goodbye(reason: reason, retrySeconds: retrySeconds)
        }
    }

    private func pause(seconds: Double, _ until: () -> Bool) {
        let end = Clock.monotonic() + Int64(seconds * 1e9)
        // A poller that watches nothing is a clock; without one the wait is over at once and the next attempt fails.
        guard var poller = try? Poller(batch: 1) else { return }
        while !until(), Clock.monotonic() < end {
            guard (try? poller.wait(milliseconds: Self.turnMilliseconds)) != nil else { return }
        }
    }
}

extension CourierNotification {
    init(_ notify: Notify, topic: String) {
        self.init(
            token: hexadecimal(notify.token),
            topic: notify.topicName ?? topic,
            payload: notify.payload,
            messageID: notify.messageID,
            expiry: notify.expiry,
            timestamp: notify.timestamp,
            storageFlags: notify.storageFlags,
            priority: notify.priority,
            uniqueID: notify.uniqueID?.description,
            collapseID: notify.collapseID.map { String(decoding: $0, as: UTF8.self) },
            pushType: notify.pushType
        )
    }
}
