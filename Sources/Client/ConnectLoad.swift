package import Reactor
import TLS
import Wire

/// Devices that connect, are accepted, and leave, again and again; or the bare handshake against a server that sends
/// one byte after it.
package final class ConnectLoad {
    /// One connection on its way.
    private struct Attempt {
        let link: SecureLink
        let courier: CourierLink?
        let device: Int
        let began: Int64
        var hasIntroduced = false
    }

    private static let patienceNanoseconds: Int64 = 10_000_000_000

    /// Asked once a turn, at least ten times a second; true ends a run with `.interrupted`.
    package var isInterrupted: () -> Bool = { false }

    /// Whether each device offers the ticket that its last connect got.
    package var resumes = false

    private let destination: Destination
    private let context: TLSContext
    private let transport = TLSTransport()
    private let credentials: [CourierCredentials]
    private let parallel: Int
    private var poller: Poller
    private var attempts: [Attempt?]
    /// Devices that are not connected, by turns. One device is never connected twice at a time: the gateway would end
    /// the first of the two.
    private var idle: [Int]
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    /// By device.
    private var tickets: [TLSTicket?]
    private var gatewayTime = GatewayTime()
    private var started = 0
    private var result = LoadResult()

    /// `identities` are the devices by turns; none for bare handshakes. `caPEM` are the authorities to trust; nil
    /// verifies nothing.
    package init(
        to destination: Destination,
        caPEM: [UInt8]?,
        identities: [CourierIdentity],
        parallel: Int
    ) throws(LoadError) {
        self.destination = destination
        let protocols = identities.isEmpty ? [] : [DeviceProtocol.extended, DeviceProtocol.plain]
        context = try linked { () throws(CourierError) in
            try secure { () throws(TLSError) in try TLSContext.client(caPEM: caPEM, alpn: protocols) }
        }
        credentials = try linked { () throws(CourierError) in
            try identities.map { identity throws(CourierError) in
                try secure { () throws(TLSError) in try CourierCredentials(identity) }
            }
        }
        self.parallel = identities.isEmpty ? parallel : min(parallel, identities.count)
        poller = try systemLoad { () throws(SystemError) in try Poller() }
        attempts = Array(repeating: nil, count: self.parallel)
        idle = Array(identities.indices)
        tickets = Array(repeating: nil, count: identities.count)
    }

    /// Connects `count` times. `server` is the process whose CPU time is to be told.
    package func run(count: Int, server: Int32? = nil) throws(LoadError) -> LoadResult {
        result = LoadResult()
        result.count = count
        result.resumed = resumes ? 0 : nil
        started = 0
        let clock = LoadClock(server: server)
        while result.answers.count + result.unanswered < count {
            guard !isInterrupted() else { throw .interrupted }
            for place in attempts.indices where attempts[place] == nil && started < count { begin(place) }
            let ready = try systemLoad { () throws(SystemError) in try poller.wait(milliseconds: 100) }
            for index in 0..<ready { advance(Int(poller.event(index).token)) }
            giveUpLate(at: Clock.monotonic())
        }
        clock.stop(into: &result)
        return result
    }

    private func begin(_ place: Int) {
        started += 1
        let began = Clock.monotonic()
        let device = credentials.isEmpty ? 0 : idle.removeFirst()
        do {
            let ticket = resumes ? tickets[device] : nil
            let link = try SecureLink(to: destination, context: context, transport: transport, resuming: ticket)
            // The port is free again at once: by the thousand they would run out.
            try link.resetOnClose()
            try system { () throws(SystemError) in try poller.add(link.number, token: UInt64(place), for: .read) }
            let courier = credentials.isEmpty ? nil : CourierLink(link)
            attempts[place] = Attempt(link: link, courier: courier, device: device, began: began)
        } catch {
            end(place, device, failure: error)
        }
    }

    /// Does what can be done with what came.
    private func advance(_ place: Int) {
        guard let attempt = attempts[place] else { return }
        do {
            let isDone =
                if let courier = attempt.courier { try introduce(place, courier) } else {
                    try handshake(attempt.link)
                }
            guard isDone else { return }
            result.answers.record(Clock.monotonic() - attempt.began)
            end(place, attempt.device, failure: nil)
        } catch {
            end(place, attempt.device, failure: error)
        }
    }

    /// Bare: it is done when one byte has come, which the server sends when its own handshake is.
    private func handshake(_ link: SecureLink) throws(CourierError) -> Bool {
        let plaintext = try link.receive(using: &buffer)
        if link.isEstablished && !plaintext.isEmpty { return true }
        if link.hasEnded { throw .closed }
        try link.flush()
        return false
    }

    /// A device: it is done when the gateway has accepted it.
    private func introduce(_ place: Int, _ courier: CourierLink) throws(CourierError) -> Bool {
        try courier.receive(using: &buffer)
        if courier.isEstablished, attempts[place]?.hasIntroduced == false, let device = attempts[place]?.device {
            attempts[place]?.hasIntroduced = true
            let time = gatewayTime.milliseconds(at: Clock.wall())
            try courier.connect(credentials[device], baseToken: nil, milliseconds: time)
        }
        while let message = try courier.next() {
            guard case .connectAck(let ack) = message else { continue }
            gatewayTime.follow(ack, at: Clock.wall())
            guard ack.status == 0 else {
                throw .refused(reason: ack.reason ?? "status \(ack.status)", retrySeconds: ack.retrySeconds)
            }
            return true
        }
        if courier.hasEnded { throw .closed }
        try courier.flush()
        return false
    }

    private func end(_ place: Int, _ device: Int, failure: CourierError?) {
        if resumes, let link = attempts[place]?.link {
            tickets[device] = link.ticket
            if failure == nil, link.wasResumed { result.resumed? += 1 }
        }
        attempts[place] = nil
        if !credentials.isEmpty { idle.append(device) }
        guard let failure else { return }
        result.unanswered += 1
        result.lastFailure = failure.description
    }

    private func giveUpLate(at now: Int64) {
        for place in attempts.indices {
            guard let attempt = attempts[place], now - attempt.began > Self.patienceNanoseconds else { continue }
            end(place, attempt.device, failure: .silent)
        }
    }
}
