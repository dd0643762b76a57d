import PushCore
import Reactor
import TLS
package import Wire

/// Where a fleet connects and how its devices behave.
package struct CourierFleetConfiguration: Sendable {
    /// A name or an address of the gateway.
    package var host: String
    /// Its device port.
    package var port: UInt16
    /// The authorities that may have signed the gateway's certificate; nil verifies nothing, for tests alone.
    package var caPEM: [UInt8]?
    /// The one topic that each device registers.
    package var topic: String
    /// Whether the devices offer Carillon's own form of the protocol.
    package var extended: Bool = true
    /// Whether notifications are acknowledged.
    package var acknowledges: Bool = true
    /// Handshakes that may be going on at once: more would time each other out on a busy gateway.
    package var handshakeLimit: Int = 64
    /// Devices that share a source address when the gateway is on this machine.
    package var devicesPerAddress: Int = 500
    /// Between signs of life. Long, because a fleet is for measuring pushes or idle sessions.
    package var keepAliveMinutes: Int = 5

    package init(host: String, port: UInt16, caPEM: [UInt8]?, topic: String) {
        self.host = host
        self.port = port
        self.caPEM = caPEM
        self.topic = topic
    }
}

/// Many devices on one thread, for benchmarks and soak tests. Each registers one topic, acknowledges all that comes,
/// and connects again when its connection ends. A fleet belongs to the thread that made it.
package final class CourierFleet {
    /// The devices' tokens in hexadecimal, in the order of the identities; empty until the gateway gave one.
    package private(set) var tokens: [String]
    /// Devices that are connected, have their token and have enabled their topic.
    package private(set) var readyCount = 0
    /// Notifications that came, repeated ones included.
    package private(set) var notificationCount = 0
    /// Connections that ended or could not be made, and why the last one did.
    package private(set) var failureCount = 0
    /// Why the last connection ended; nil while none has.
    package private(set) var lastFailure: CourierError?

    /// When the notification that is being handed over was read, in monotonic nanoseconds.
    package private(set) var readMoment: Int64 = 0

    private let configuration: CourierFleetConfiguration
    private let destination: Destination
    private let context: TLSContext
    private let transport = TLSTransport()
    private var poller: Poller
    private var members: [CourierMember]
    /// Members to connect, the next one last.
    private var waiting: [Int]
    private var handshakeCount = 0
    private var deadlines = Deadlines()
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var answers: [UInt8] = []
    private var gatewayTime = GatewayTime()

    /// Throws when a key or certificate cannot be used.
    package init(configuration: CourierFleetConfiguration, identities: [CourierIdentity]) throws(CourierError) {
        self.configuration = configuration
        destination = try system { () throws(SystemError) in
            try Destination(host: configuration.host, port: configuration.port)
        }
        let protocols = (configuration.extended ? [DeviceProtocol.extended] : []) + [DeviceProtocol.plain]
        context = try secure { () throws(TLSError) in
            try TLSContext.client(caPEM: configuration.caPEM, alpn: protocols)
        }
        poller = try system { () throws(SystemError) in try Poller() }
        let conversation = CourierConversation(
            topics: [configuration.topic],
            acknowledges: configuration.acknowledges
        )
        members = try identities.map { identity throws(CourierError) in
            let credentials = try secure { () throws(TLSError) in try CourierCredentials(identity) }
            return CourierMember(credentials: credentials, conversation: conversation)
        }
        tokens = Array(repeating: "", count: identities.count)
        waiting = Array(identities.indices.reversed())
    }

    /// Runs the devices for as long as `until` is false; it is asked once a turn, at least every 100 ms. What comes is
    /// handed over with the device's index. Throws only when the loop itself cannot go on.
    package func run(
        until: () -> Bool,
        onNotification: (Int, Notify) -> Void = { _, _ in }
    ) throws(CourierError) {
        while !until() { try turn(milliseconds: 100, onNotification: onNotification) }
    }

    /// One turn, which waits for so long at most. It is due when `pollNumber` becomes readable, and now and then.
    package func turn(
        milliseconds: Int32,
        onNotification: (Int, Notify) -> Void = { _, _ in }
    ) throws(CourierError) {
        while handshakeCount < configuration.handshakeLimit, let index = waiting.popLast() {
            attempt(index) { () throws(CourierError) in try dial(index) }
        }
        let count = try system { () throws(SystemError) in try poller.wait(milliseconds: milliseconds) }
        for number in 0..<count {
            let index = Int(poller.event(number).token)
            attempt(index) { () throws(CourierError) in try serve(index, onNotification) }
        }
        checkDeadlines(at: Clock.monotonic())
    }

    /// Runs until every device is ready; false when `timeoutSeconds` pass or `until` is true first.
    package func connect(timeoutSeconds: Double, until: () -> Bool) throws(CourierError) -> Bool {
        let end = Clock.monotonic() + Int64(timeoutSeconds * 1e9)
        try run { readyCount == members.count || Clock.monotonic() >= end || until() }
        return readyCount == members.count
    }

    /// Takes leave of the gateway. The fleet connects again when it is run again.
    package func close() {
        for index in members.indices where members[index].link != nil {
            members[index].link?.close()
            forget(index)
            members[index].deadline = .max
            waiting.append(index)
        }
    }

    /// Becomes readable when a turn has something to do; for another loop on the same thread.
    package var pollNumber: Int32 { poller.number }

    /// The last byte of the address a device connects from; nil leaves it to the system. One address has too few ports
    /// for all, and a gateway takes only so many connections of one.
    private func source(of index: Int) -> UInt8? {
        guard destination.isLoopback, members.count > configuration.devicesPerAddress else { return nil }
        return UInt8(1 + index / configuration.devicesPerAddress % 254)
    }

    private func dial(_ index: Int) throws(CourierError) {
        let link = CourierLink(
            try SecureLink(to: destination, context: context, transport: transport, source: source(of: index))
        )
        try system { () throws(SystemError) in try poller.add(link.number, token: UInt64(index), for: .read) }
        let now = Clock.monotonic()
        members[index].begin(link, at: now)
        handshakeCount += 1
        setDeadline(index, at: now + CourierPulse.patience)
    }

    /// Takes what came for a member, and answers it with one write.
    private func serve(_ index: Int, _ onNotification: (Int, Notify) -> Void) throws(CourierError) {
        guard let link = members[index].link else { return }
        try link.receive(using: &buffer)
        readMoment = Clock.monotonic()
        if link.isEstablished && members[index].phase == .handshaking {
            members[index].phase = .introduced
            let time = gatewayTime.milliseconds(at: Clock.wall())
            let token = members[index].conversation.baseToken
            try link.connect(members[index].credentials, baseToken: token, milliseconds: time)
        }
        answers.removeAll(keepingCapacity: true)
        while let message = try link.next() {
            try act(on: members[index].conversation.receive(message, answers: &answers), index, onNotification)
        }
        if !answers.isEmpty { try link.send(answers) } else if link.hasUnsent { try link.flush() }
        if link.hasEnded { throw .closed }
        try watchWrites(index, link)
    }

    private func act(
        on outcome: CourierConversation.Outcome,
        _ index: Int,
        _ onNotification: (Int, Notify) -> Void
    ) throws(CourierError) {
        switch outcome {
        case .nothing: break
        case .connected(let ack):
            gatewayTime.follow(ack, at: Clock.wall())
            handshakeCount -= 1
            members[index].phase = .connected
            setDeadline(index, at: Clock.monotonic() + keepAliveNanoseconds)
        case .refused(let ack):
            gatewayTime.follow(ack, at: Clock.wall())
            throw .refused(reason: ack.reason ?? "status \(ack.status)", retrySeconds: ack.retrySeconds)
        case .token(_, let token):
            tokens[index] = hexadecimal(token)
            if members[index].phase != .ready { readyCount += 1 }
            members[index].phase = .ready
        case .topicRefused(_, let reason):
            throw .refused(reason: reason, retrySeconds: nil)
        case .notification(let notify):
            notificationCount += 1
            onNotification(index, notify)
        case .goodbye(let reason, let retrySeconds):
            throw .goodbye(reason: reason, retrySeconds: retrySeconds)
        }
    }

    private func watchWrites(_ index: Int, _ link: CourierLink) throws(CourierError) {
        guard link.hasUnsent != members[index].isWatchingWrites else { return }
        members[index].isWatchingWrites = link.hasUnsent
        let interest: Poller.Interest = link.hasUnsent ? [.read, .write] : .read
        try system { () throws(SystemError) in
            try poller.change(link.number, token: UInt64(index), for: interest)
        }
    }

    /// Runs one step of one member; if it fails the member loses its connection and waits for the next.
    private func attempt(_ index: Int, _ step: () throws(CourierError) -> Void) {
        do {
            try step()
        } catch {
            failureCount += 1
            lastFailure = error
            let now = Clock.monotonic()
            let lasted = now - members[index].began
            forget(index)
            let wait = members[index].backoff.next(
                afterNanoseconds: lasted,
                hint: error.retrySeconds,
                chance: Double.random(in: 0..<1)
            )
            setDeadline(index, at: now + Int64(wait * 1e9))
        }
    }

    private func forget(_ index: Int) {
        switch members[index].phase {
        case .away, .connected: break
        case .handshaking, .introduced: handshakeCount -= 1
        case .ready: readyCount -= 1
        }
        members[index].end()
    }

    // A deadline that the member has replaced is still in the heap: it is known by coming too early.
    private func setDeadline(_ index: Int, at moment: Int64) {
        members[index].deadline = moment
        deadlines.add(UInt64(index), at: moment)
    }

    private func checkDeadlines(at now: Int64) {
        while let token = deadlines.popDue(at: now) {
            let index = Int(token)
            guard members[index].deadline <= now else { continue }
            members[index].deadline = .max
            switch members[index].phase {
            case .away: waiting.append(index)
            case .handshaking, .introduced: attempt(index) { () throws(CourierError) in throw .silent }
            case .connected, .ready: attempt(index) { () throws(CourierError) in try keepAlive(index, at: now) }
            }
        }
    }

    private var keepAliveNanoseconds: Int64 { Int64(configuration.keepAliveMinutes) * 60_000_000_000 }

    private func keepAlive(_ index: Int, at now: Int64) throws(CourierError) {
        answers.removeAll(keepingCapacity: true)
        members[index].conversation.keepAlive(intervalMinutes: configuration.keepAliveMinutes, into: &answers)
        try members[index].link?.send(answers)
        setDeadline(index, at: now + keepAliveNanoseconds)
    }
}
