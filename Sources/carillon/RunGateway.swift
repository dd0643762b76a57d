import Gateway
import Glibc
import JSON
import Reactor

/// Starts the gateway, says when it listens, and runs it until it has drained.
func runGateway(_ request: ServeRequest) throws(CommandError) -> Outcome {
    let clock = GatewayClock()
    let log = standardErrorLog(request.instance.config, clock)
    // Before the first thread: one made earlier would still die of a signal.
    var signals = try system { () throws(SystemError) in try Signals() }
    var poller = try system { () throws(SystemError) in try Poller(batch: 1) }
    try system { () throws(SystemError) in try poller.add(signals.number, token: 0, for: .read) }
    let gateway = try started(request, log, clock)
    report(gateway.addresses, json: request.json)

    var isStopping = false
    while !isStopping {
        // A wait that fails is tried again: ending here would cut off every device.
        _ = try? poller.wait(milliseconds: -1)
        while let signal = signals.next() {
            switch signal {
            case .stop: isStopping = true
            case .reload: reload(gateway, request, log)
            }
        }
    }
    gateway.stop()
    log.info("stopped")
    return .done
}

/// Calls the system; its failure becomes ours.
private func system<Result: ~Copyable>(
    _ call: () throws(SystemError) -> Result
) throws(CommandError) -> Result {
    do { return try call() } catch { throw .failed(code: "system", message: "cannot wait for signals: \(error)") }
}

private func started(
    _ request: ServeRequest,
    _ log: Log,
    _ clock: GatewayClock
) throws(CommandError) -> Gateway {
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

/// New certificates count at once; other settings count from the next start, and the log says so.
private func reload(_ gateway: Gateway, _ request: ServeRequest, _ log: Log) {
    do throws(CommandError) {
        let (config, files) = try request.reloaded()
        do throws(StartError) {
            try gateway.reload(files)
        } catch {
            throw .failed(code: "reload", message: error.description)
        }
        if config == request.instance.config {
            log.info("reloaded the certificates")
        } else {
            log.warning("reloaded the certificates; changed settings count from the next start")
        }
    } catch {
        log.error("not reloaded, all stays as it was", LogField("reason", error.message))
    }
}

/// The one line on standard output that tells who waits for it that it may connect.
private func report(_ addresses: Gateway.Addresses, json: Bool) {
    guard !json else {
        return Output.object { writer in
            writer.field("event", "ready")
            writer.field("provider", addresses.provider)
            writer.field("channels", addresses.channels)
            writer.field("device", addresses.device)
            writer.field("admin", addresses.admin)
        }
    }
    let doors = [
        ("providers", addresses.provider), ("channels", addresses.channels), ("devices", addresses.device),
        ("admin", [addresses.admin]),
    ]
    let parts = doors.map { "\($0.0) \($0.1.joined(separator: " "))" }
    Output.line("carillon is ready: \(parts.joined(separator: ", "))")
}

private func standardErrorLog(_ config: Config, _ clock: GatewayClock) -> Log {
    let format: LogFormat = config.logFormat ?? (isatty(STDERR_FILENO) == 1 ? .text : .json)
    return Log(level: config.logLevel, format: format, clock: { clock.now() }) { line in
        // When standard error is closed there is nobody left to tell.
        try? Files.write(Array(line.utf8), to: STDERR_FILENO, name: "standard error")
    }
}
