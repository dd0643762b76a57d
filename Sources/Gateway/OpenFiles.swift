import Admin
import Reactor

/// What the open-file limit leaves for connections. Without the rest of the descriptors the listeners, libmicrohttpd's
/// above all, would try to accept over and over.
struct OpenFiles {
    /// The store, its journal, the logs, a backup, the connections that are closed as soon as they were accepted.
    private static let others = 96
    /// The fewest connections that are of use.
    private static let fewest = 16

    /// How many this process may have.
    let limit: Int
    /// How many of them are not for connections of devices and providers.
    let reserve: Int
    /// `limits.connections`; 0 is what is left.
    private let setting: Int

    init(_ config: Config, limit: Int = Machine.openFileLimit().soft) {
        self.limit = limit
        setting = config.limitsConnections
        let threads = config.threads > 0 ? config.threads : Machine.cores
        let ports = config.providerPorts.count + 1 + config.devicePorts.count
        // Each loop has a poller, a mailbox, and a listener for each port.
        reserve = Self.others + AdminServer.connectionLimit + threads * (2 + ports)
    }

    /// Descriptors for connections of devices and providers; below 0 if there are too few for the rest.
    private var left: Int { limit - reserve }

    /// Connections that there may be, over all loops: what is left, or fewer if so many are set.
    var connections: Int { setting > 0 ? min(setting, left) : left }

    /// Refuses settings that leave next to nothing, and tells what does not go as it is set.
    func check(_ log: Log) throws(StartError) {
        let wanted = setting > 0 ? min(setting, Self.fewest) : Self.fewest
        guard left >= wanted else {
            throw StartError(
                "the open-file limit is \(limit); threads, ports and the admin port need \(reserve), and a few "
                    + "connections \(wanted): raise it to \(reserve + wanted) or more (LimitNOFILE in the service's "
                    + "unit, ulimit -Hn) or lower threads"
            )
        }
        if setting > left {
            log.warning(
                "limits.connections is more than the open-file limit allows",
                LogField("connections", connections),
                LogField("limit", limit)
            )
        }
    }
}

extension AddressBook.Bounds {
    /// Those of the settings, within what the open-file limit allows.
    init(_ config: Config) {
        connections = OpenFiles(config).connections
        perAddress = config.limitsConnectionsPerAddress
        failures = config.limitsFailuresPerAddress
    }
}
