import Client
import Reactor

/// The instance a load is for, and what its running gateway says.
struct BenchGateway {
    let instance: Instance
    let admin: AdminGateway
    let target: PushTarget

    init(_ invocation: Invocation) throws(CommandError) {
        instance = try Instance.require(invocation)
        admin = try AdminGateway(instance)
        guard
            let target = PushTarget(apps: try admin.items("/v1/apps"), keys: try admin.items("/v1/keys"), instance)
        else {
            throw .failed(code: "no_key", message: "no app whose team has a key in \(instance.keysDirectory)")
        }
        self.target = target
    }

    var authorityPEM: [UInt8] { get throws(CommandError) { try Files.read(instance.authorityPath) } }

    /// Where a provider connects.
    func provider() throws(CommandError) -> (host: String, port: UInt16) {
        let url = try instance.providerURL()
        return try address(String(url.dropFirst("https://".count)), "provider.host")
    }

    /// Where a device connects.
    func device() throws(CommandError) -> (host: String, port: UInt16) {
        try address(instance.deviceAddress(), "device.host")
    }

    /// Runs a bench with the first devices; those that are missing are enrolled. If it is interrupted, what it has
    /// enrolled is removed again, and if it fails, its error says what is left.
    func withDevices(
        _ count: Int,
        _ bench: ([CourierIdentity], BenchInterruption) throws(CommandError) -> Outcome
    ) throws(CommandError) -> Outcome {
        let interruption = try BenchInterruption()
        let devices = BenchDevices(instance, admin)
        let failure: CommandError
        do throws(CommandError) {
            let outcome = try bench(try devices.identities(count, until: interruption.isRequested), interruption)
            if outcome == .failed, let left = devices.left { Output.note(left) }
            return outcome
        } catch {
            failure = error
        }
        // The gateway may have gone because the same signal ended it.
        guard interruption.look() else {
            throw devices.left.map { .failed(code: failure.code, message: "\(failure.message)\n\($0)") } ?? failure
        }
        interruption.forget()
        throw .failed(code: "interrupted", message: "interrupted; \(devices.takeBack(until: interruption.isRequested))")
    }

    /// A fleet of these devices, connected, each with its token.
    func fleet(
        _ identities: [CourierIdentity],
        until isInterrupted: () -> Bool
    ) throws(CommandError) -> CourierFleet {
        let count = identities.count
        let (host, port) = try device()
        var settings = CourierFleetConfiguration(
            host: host,
            port: port,
            caPEM: try authorityPEM,
            topic: target.topic
        )
        settings.keepAliveMinutes = 15
        do throws(CourierError) {
            let fleet = try CourierFleet(configuration: settings, identities: identities)
            // A handshake takes a millisecond of each side; a slow machine gets twenty.
            guard try fleet.connect(timeoutSeconds: 60 + Double(count) / 50, until: isInterrupted) else {
                let reason = fleet.lastFailure.map { ": \($0)" } ?? ""
                throw CourierError.system("only \(fleet.readyCount) of \(count) devices connected\(reason)")
            }
            return fleet
        } catch {
            throw .failed(code: "devices", message: error.description)
        }
    }

    /// Refuses more devices than this process may have connections.
    static func checkOpenFiles(_ count: Int) throws(CommandError) {
        Machine.raiseOpenFileLimit()
        let limit = Machine.openFileLimit().hard
        guard count + 100 <= limit else {
            throw .failed(code: "open_files", message: "\(count) devices need as many open files; \(limit) are allowed")
        }
    }

    private func address(_ text: String, _ setting: String) throws(CommandError) -> (host: String, port: UInt16) {
        guard let parts = hostAndPort(text) else {
            throw .failed(code: "config", message: "\(setting) is no address to connect to")
        }
        return parts
    }
}
