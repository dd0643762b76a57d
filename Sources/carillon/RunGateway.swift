import Gateway
import Glibc
import JSON
import PushCore
import Reactor

/// Bytes of log lines that may wait for who reads them: some thousand lines.
private let waitingLogBytes = 1 << 20

/// Starts the gateway, says when it listens, and runs it until it has drained.
func runGateway(_ request: ServeRequest) throws(CommandError) -> Outcome {
    // Before any other thread starts: it inherits which signals are blocked.
    let surroundings = try serviceSurroundings(request.instance.variables)
    Machine.guardMemory()
    let clock = GatewayClock()
    let writer = try lineWriter()
    // The last lines are not lost, unless nobody reads.
    defer { writer.finish(milliseconds: 1000) }
    let log = makeLog(request.instance.config, clock, writer)
    let gateway = try start(request, log, clock)
    defer { gateway.stop() }
    do throws(SystemError) {
        var attendant = try Attendant(request, gateway, log, surroundings)
        announce(gateway.addresses, json: request.json)
        attendant.run()
    } catch {
        throw .failed(code: "system", message: "cannot wait for signals: \(error)")
    }
    return .done
}

private func serviceSurroundings(_ variables: [String: String]) throws(CommandError) -> ServiceSurroundings {
    do throws(SystemError) {
        let signals = try Signals()
        return ServiceSurroundings(
            signals: signals,
            supervisor: ServiceSupervisor(variables: variables, processID: getpid())
        )
    } catch {
        throw .failed(code: "system", message: "cannot listen for signals: \(error)")
    }
}

private func lineWriter() throws(CommandError) -> LineWriter {
    do throws(SystemError) {
        return try LineWriter(to: STDERR_FILENO, limit: waitingLogBytes)
    } catch {
        throw .failed(code: "system", message: "cannot start the log: \(error)")
    }
}

private func makeLog(_ config: Config, _ clock: GatewayClock, _ writer: LineWriter) -> Log {
    let format = config.logFormat ?? (isatty(STDERR_FILENO) == 1 ? .text : .json)
    return Log(level: config.logLevel, format: format, clock: { clock.now() }, write: writer.write)
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
