import Gateway
import Glibc
import JSON
import PushCore
import Reactor

/// Starts the gateway, says when it listens, and runs it until it has drained.
func runGateway(_ request: ServeRequest) throws(CommandError) -> Outcome {
    // Before any other thread starts: it inherits which signals are blocked.
    var signals = try signalSource()
    var poller = try poller(watching: signals.number)
    let clock = GatewayClock()
    let log = makeLog(request.instance.config, clock)
    let gateway = try start(request, log, clock)
    try watch(gateway.reloads.number, by: poller)
    var asked: [ReloadRequest] = []
    announce(gateway.addresses, json: request.json)
    while true {
        // A wait that fails is tried again; the signals are not lost.
        _ = try? poller.wait(milliseconds: 1000)
        while let signal = signals.next() {
            switch signal {
            case .reload: _ = reload(gateway, request, log)
            case .stop:
                gateway.stop()
                return .done
            }
        }
        gateway.reloads.take(into: &asked)
        for one in asked { one.answer(reload(gateway, request, log)) }
    }
}

private func signalSource() throws(CommandError) -> Signals {
    do throws(SystemError) {
        return try Signals()
    } catch {
        throw .failed(code: "system", message: "cannot listen for signals: \(error)")
    }
}

private func poller(watching number: Int32) throws(CommandError) -> Poller {
    do throws(SystemError) {
        let poller = try Poller()
        try poller.add(number, token: 0, for: .read)
        return poller
    } catch {
        throw .failed(code: "system", message: "cannot wait for signals: \(error)")
    }
}

private func watch(_ number: Int32, by poller: borrowing Poller) throws(CommandError) {
    do throws(SystemError) {
        try poller.add(number, token: 1, for: .read)
    } catch {
        throw .failed(code: "system", message: "cannot wait for requests to reload: \(error)")
    }
}

private func makeLog(_ config: Config, _ clock: GatewayClock) -> Log {
    let format = config.logFormat ?? (isatty(STDERR_FILENO) == 1 ? .text : .json)
    return Log(level: config.logLevel, format: format, clock: { clock.now() }) { line in
        // Nobody is left to tell when standard error is gone.
        try? Files.write(Array(line.utf8), to: STDERR_FILENO, name: "log")
    }
}

private func start(_ request: ServeRequest, _ log: Log, _ clock: GatewayClock) throws(CommandError) -> Gateway {
    do throws(StartError) {
        return try Gateway(
            config: request.instance.config,
            files: request.files,
            testHooks: request.testHooks,
            log: log,
            clock: clock
        )
    } catch {
        throw .failed(code: "start", message: error.description)
    }
}

/// The one line that says it listens.
private func announce(_ addresses: Gateway.Addresses, json: Bool) {
    guard json else {
        let doors = [
            "provider \(addresses.provider.joined(separator: ", "))",
            "channels \(addresses.channels.joined(separator: ", "))",
            "device \(addresses.device.joined(separator: ", "))",
            "admin \(addresses.admin)",
        ]
        return Output.line("ready: \(doors.joined(separator: "; "))")
    }
    Output.object { writer in
        writer.field("event", "ready")
        writer.field("provider", addresses.provider)
        writer.field("channels", addresses.channels)
        writer.field("device", addresses.device)
        writer.field("admin", addresses.admin)
    }
}

/// New certificates for new connections; what is broken changes nothing. Returns what is wrong with it.
private func reload(_ gateway: Gateway, _ request: ServeRequest, _ log: Log) -> String? {
    do throws(CommandError) {
        try take(request.reloadedFiles(), gateway)
        log.info("reloaded")
        return nil
    } catch {
        log.error("reload failed; the old files stay in force", LogField("error", error.message))
        return error.message
    }
}

private func take(_ files: InstanceFiles, _ gateway: Gateway) throws(CommandError) {
    do throws(StartError) {
        try gateway.reload(files)
    } catch {
        throw .failed(code: "reload", message: error.description)
    }
}
