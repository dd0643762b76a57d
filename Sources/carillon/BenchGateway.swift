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

    /// A fleet of the first devices, connected, each with its token.
    func fleet(_ count: Int) throws(CommandError) -> CourierFleet {
        Machine.raiseOpenFileLimit()
        let limit = Machine.openFileLimit().hard
        guard count + 100 <= limit else {
            throw .failed(code: "open_files", message: "\(count) devices need as many open files; \(limit) are allowed")
        }
        let identities = try BenchDevices(instance, admin).identities(count)
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
            guard try fleet.connect(timeoutSeconds: 60 + Double(count) / 50) else {
                let reason = fleet.lastFailure.map { ": \($0)" } ?? ""
                throw CourierError.system("only \(fleet.readyCount) of \(count) devices connected\(reason)")
            }
            return fleet
        } catch {
            throw .failed(code: "devices", message: error.description)
        }
    }

    private func address(_ text: String, _ setting: String) throws(CommandError) -> (host: String, port: UInt16) {
        guard let parts = hostAndPort(text) else {
            throw .failed(code: "config", message: "\(setting) is no address to connect to")
        }
        return parts
    }
}
