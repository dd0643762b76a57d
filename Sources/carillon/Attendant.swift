import Gateway
import Reactor

/// What the first thread does while the gateway runs: it heeds signals, files that change and the service supervisor.
struct Attendant: ~Copyable {
    private let request: ServeRequest
    private let gateway: Gateway
    private let log: Log
    private let supervisor: ServiceSupervisor?
    private var signals: Signals
    private var poller: Poller
    private let drained: Mailbox<Bool>
    private var asked: [ReloadRequest] = []
    private var look: FileLook
    /// Whether the settings file in force sets anything.
    private var hasFileSettings: Bool
    private var pulse: GatewayPulse
    private var isDraining = false
    private var nextLook: Int64
    private var nextBeat: Int64
    private var lostLines = 0

    /// From one look at the files to the next.
    private static let lookNanoseconds: Int64 = 500_000_000

    init(
        _ request: ServeRequest,
        _ gateway: Gateway,
        _ log: Log,
        _ surroundings: consuming ServiceSurroundings
    ) throws(SystemError) {
        let poller = try Poller(batch: 4)
        let drained = try Mailbox<Bool>()
        try poller.add(surroundings.signals.number, token: 0, for: .read)
        try poller.add(drained.number, token: 1, for: .read)
        try poller.add(gateway.reloads.number, token: 2, for: .read)
        (self.request, self.gateway, self.log, self.drained) = (request, gateway, log, drained)
        self.poller = poller
        supervisor = surroundings.supervisor
        signals = surroundings.signals
        look = FileLook(request.instance.reloadedPaths)
        hasFileSettings = request.instance.loaded.hasFileSettings
        pulse = gateway.pulse
        nextLook = Clock.monotonic() + Self.lookNanoseconds
        nextBeat = Clock.monotonic()
    }

    /// Returns when the gateway was told to stop and has said goodbye to everyone.
    mutating func run() {
        supervisor?.ready("serving")
        while true {
            // A wait that fails is tried again; the signals are not lost.
            _ = try? poller.wait(milliseconds: millisecondsToWait)
            while let signal = signals.next() { heed(signal) }
            var ends: [Bool] = []
            drained.take(into: &ends)
            if !ends.isEmpty { return }
            gateway.reloads.take(into: &asked)
            for request in asked { request.answer(reload()) }
            let now = Clock.monotonic()
            if now >= nextBeat { beat(at: now) }
            if now >= nextLook {
                nextLook = now + Self.lookNanoseconds
                tellLostLines()
                if !isDraining, look.hasChanged() { _ = reload() }
            }
        }
    }

    private var millisecondsToWait: Int32 {
        Int32(clamping: max(min(nextLook, nextBeat) - Clock.monotonic(), 0) / 1_000_000 + 1)
    }

    private mutating func heed(_ signal: Signals.Received) {
        switch signal {
        case .reload where isDraining: break
        case .reload: _ = reload()
        case .stop where isDraining: gateway.hurry()
        case .stop: drain()
        }
    }

    private mutating func drain() {
        isDraining = true
        supervisor?.stopping()
        let drained = drained
        do throws(StartError) {
            try gateway.drain { drained.post(true) }
        } catch {
            // Without a thread there is no drain, but still an end that loses nothing.
            log.error("cannot drain", LogField("error", error))
            drained.post(true)
        }
    }

    /// A quarter of what the supervisor's patience is, so that a missed beat or two end nothing.
    private mutating func beat(at now: Int64) {
        guard let patience = supervisor?.watchdogNanoseconds else { return nextBeat = .max }
        nextBeat = now + max(patience / 4, 1_000_000)
        if pulse.beat() { supervisor?.alive() }
    }

    /// Told at most once a look, so that this cannot flood what it tells of.
    private mutating func tellLostLines() {
        let lost = log.lost
        guard lost > lostLines else { return }
        log.warning("log lines were lost", LogField("count", lost - lostLines))
        // If this one was lost as well, it is told the next time.
        if log.lost == lost { lostLines = lost }
    }

    /// New settings and files, for new connections; what is broken changes nothing. Returns what is wrong with it.
    private mutating func reload() -> String? {
        supervisor?.reloading()
        look.accept()
        do throws(CommandError) {
            let waiting = try takeNew()
            gateway.reloaded(true)
            log.info("reloaded")
            if !waiting.isEmpty {
                log.warning("settings wait for a restart", LogField("settings", waiting.joined(separator: ", ")))
            }
            supervisor?.ready("serving")
            return nil
        } catch {
            gateway.reloaded(false)
            log.error("reload failed; the old settings and files stay in force", LogField("error", error.message))
            supervisor?.ready("serving; a reload failed, see the log")
            return error.message
        }
    }

    private mutating func takeNew() throws(CommandError) -> [String] {
        // Looked at before it is read: what changes meanwhile is a change.
        let started = request.instance
        var look = FileLook([started.namedPath])
        let instance = try Instance(
            configPath: started.namedPath,
            overrides: request.overrides,
            variables: started.variables
        )
        // An editor, or a script, may have emptied it and not written it yet; defaults would be no harmless guess.
        guard instance.loaded.hasFileSettings || !hasFileSettings else {
            throw .failed(
                code: "config",
                message: "\(started.namedPath) sets nothing any more; if that is meant, restart for the defaults"
            )
        }
        look.add(Array(instance.reloadedPaths.dropFirst()))
        let files = try StartFiles.read(instance)
        do throws(StartError) {
            let waiting = try gateway.reload(instance.config, files)
            self.look = look
            hasFileSettings = instance.loaded.hasFileSettings
            return waiting
        } catch {
            throw .failed(code: "reload", message: error.description)
        }
    }
}

/// What the process was given to be told by, and to tell.
struct ServiceSurroundings: ~Copyable {
    var signals: Signals
    let supervisor: ServiceSupervisor?
}
