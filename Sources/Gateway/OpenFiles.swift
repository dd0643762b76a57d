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

    /// Connections that there may be, over all loops.
    func connections(_ config: Config) -> Int {
        config.limitsConnections > 0 ? config.limitsConnections : limit - reserve
    }

    /// Refuses settings that need more descriptors than there are.
    func check(_ config: Config) throws(StartError) {
        let wanted = config.limitsConnections > 0 ? config.limitsConnections : Self.fewest
        guard limit - reserve < wanted else { return }
        throw StartError(
            "the open-file limit is \(limit); threads, ports and the admin port need \(reserve), and connections "
                + "\(wanted): raise it to \(reserve + wanted) or more (LimitNOFILE in the service's unit, ulimit -Hn) "
                + "or lower limits.connections or threads"
        )
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
