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

    init(_ config: Config, limit: Int = Machine.openFileLimit().soft) {
        self.limit = limit
        let threads = config.threads > 0 ? config.threads : Machine.cores
        let ports = config.providerPorts.count + 1 + config.devicePorts.count
        // Each loop has a poller, a mailbox, and a listener for each port.
        reserve = Self.others + AdminServer.connectionLimit + threads * (2 + ports)
    }

    /// Connections that there may be, over all loops: what is left, or fewer if so many are set.
    func connections(_ config: Config) -> Int {
        let left = limit - reserve
        return config.limitsConnections > 0 ? min(config.limitsConnections, left) : left
    }

    /// Refuses settings that leave next to nothing, and tells what does not go as it is set.
    func check(_ config: Config, _ log: Log) throws(StartError) {
        let set = config.limitsConnections
        let wanted = set > 0 ? min(set, Self.fewest) : Self.fewest
        guard limit - reserve >= wanted else {
            throw StartError(
                "the open-file limit is \(limit); threads, ports and the admin port need \(reserve), and a few "
                    + "connections \(wanted): raise it to \(reserve + wanted) or more (LimitNOFILE in the service's "
                    + "unit, ulimit -Hn) or lower threads"
            )
        }
        if set > limit - reserve {
            log.warning(
                "limits.connections is more than the open-file limit allows",
                LogField("connections", connections(config)),
                LogField("limit", limit)
            )
        }
    }
}

extension AddressBook.Bounds {
    /// The bounds that the settings, and what they leave open the open-file limit, give.
    init(_ config: Config) {
        connections = OpenFiles(config).connections(config)
        perAddress = config.limitsConnectionsPerAddress
        failures = config.limitsFailuresPerAddress
    }
}
