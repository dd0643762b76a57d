import Gateway
import Reactor
import TLS

/// The doctor's checks of the machine.
enum MachineChecks {
    static let all: [@Sendable (Instance) -> Finding] = [openFiles, portRange, somaxconn, clock]

    /// A session is a descriptor: fewer than this is a small gateway.
    private static let openFilesWanted = 65_536
    /// Connections that wait to be accepted: after a restart every device comes back at once.
    private static let somaxconnWanted = 1024

    private static func openFiles(_ instance: Instance) -> Finding {
        let limit = Machine.openFileLimit().hard
        let message = "a process started from here may open \(limit) files, each connection is one"
        if limit >= openFilesWanted { return .ok("open-files", message) }
        return .warning(
            "open-files",
            message,
            fix: "LimitNOFILE=1048576 in the service's unit, or ulimit -Hn 1048576 as root before the start"
        )
    }

    private static func portRange(_ instance: Instance) -> Finding {
        let path = "/proc/sys/net/ipv4/ip_local_port_range"
        let numbers = numbers(in: path)
        guard numbers.count == 2, numbers[0] <= numbers[1] else {
            return .skipped("port-range", "cannot read \(path)")
        }
        let reserved = reservedPorts()
        let taken = instance.config.listeningPorts.filter { port in
            port >= numbers[0] && port <= numbers[1] && !reserved.contains { $0.contains(port) }
        }
        let range = "\(numbers[0]) to \(numbers[1])"
        if taken.isEmpty {
            return .ok("port-range", "no listener is among the ports for outgoing connections, \(range)")
        }
        let list = taken.map(String.init).joined(separator: ",")
        return .warning(
            "port-range",
            "port \(list) is among those for outgoing connections (\(range)) and may be taken at a start",
            fix: "sysctl -w net.ipv4.ip_local_reserved_ports=\(list)"
        )
    }

    private static func somaxconn(_ instance: Instance) -> Finding {
        let path = "/proc/sys/net/core/somaxconn"
        guard let value = numbers(in: path).first else { return .skipped("somaxconn", "cannot read \(path)") }
        let message = "\(value) connections may wait to be accepted"
        if value >= somaxconnWanted { return .ok("somaxconn", message) }
        return .warning("somaxconn", message, fix: "sysctl -w net.core.somaxconn=4096")
    }

    private static func clock(_ instance: Instance) -> Finding {
        let now = Clock.wall() / 1_000_000_000
        let shown = shownUTC(seconds: now)
        guard let pem = try? Files.read(instance.certificatePath), let certificate = try? Certificate(pem: pem) else {
            // The certificate checks say why; here it only leaves nothing to compare with.
            return .skipped("clock", "it is \(shown) here; no certificate to compare with")
        }
        if now < certificate.notBefore {
            return .failed("clock", "it is \(shown) here, before the server's certificate was made", fix: setClock)
        }
        switch Machine.isClockSynchronised {
        case true?: return .ok("clock", "it is \(shown), synchronised")
        case nil: return .skipped("clock", "it is \(shown) here; the system does not say whether it is synchronised")
        case false?:
            return .warning(
                "clock",
                "it is \(shown) here, and nothing synchronises the clock; provider tokens are good for an hour",
                fix: setClock
            )
        }
    }

    private static let setClock = "run a time service such as chrony or systemd-timesyncd"

    private static func reservedPorts() -> [ClosedRange<Int>] {
        guard let text = try? Files.readText("/proc/sys/net/ipv4/ip_local_reserved_ports") else {
            return []  // A kernel without the file reserves nothing.
        }
        return trimmed(text).split(separator: ",").compactMap { part in
            let ends = part.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last else { return nil }
            return first...last
        }
    }

    /// The whole numbers in a file of the kernel's; none if it cannot be read.
    private static func numbers(in path: String) -> [Int] {
        guard let text = try? Files.readText(path) else { return [] }  // The caller says that it could not look.
        return text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    }
}

extension Config {
    /// Every fixed port that the gateway listens on.
    var listeningPorts: [Int] {
        (providerPorts + [effectiveChannelsPort] + devicePorts + [adminPort]).filter { $0 != 0 }.map(Int.init)
    }
}
