import CLinux
import Glibc

/// A place to connect to again and again: its name is looked up once.
package struct Destination: Sendable {
    /// As it was given.
    package let host: String
    private let addresses: [SocketAddress]

    /// Blocks while a name is looked up.
    package init(host: String, port: UInt16) throws(SystemError) {
        self.host = host
        addresses = try SocketAddress.resolve(host: host, port: port)
    }

    /// Whether it is this machine by way of 127.0.0.0/8, all of which may then be connected from.
    package var isLoopback: Bool { addresses.first?.isLoopback == true }

    /// Connects, trying each address in turn, and blocks until it has or `timeoutMilliseconds` have passed (ETIMEDOUT).
    /// With `source` it connects from 127.0.0.`source`. The socket is non-blocking and without Nagle's delay.
    package func connect(
        timeoutMilliseconds: Int32,
        source: UInt8? = nil
    ) throws(SystemError) -> FileDescriptor {
        let deadline = Clock.monotonic() + Int64(timeoutMilliseconds) * 1_000_000
        var failure = SystemError(call: "connect", number: EADDRNOTAVAIL)
        for address in addresses {
            do {
                let socket = try FileDescriptor.streamSocket(family: address.family)
                try socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
                if let source, address.family == AF_INET { try socket.bind(loopback: source) }
                try socket.connect(to: address, before: deadline)
                return socket
            } catch {
                failure = error
            }
        }
        throw failure
    }
}

extension FileDescriptor {
    /// Chooses the address alone; the port is chosen with the peer's, so that one serves several peers.
    fileprivate func bind(loopback last: UInt8) throws(SystemError) {
        try set(Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, 1)
        let address = SocketAddress(loopback: last)
        try attempt("bind") { address.withPointer { Glibc.bind(number, $0, $1) } }
    }
}
