import CLinux
import Glibc

/// A listening TCP socket. Several may share a port, one for each loop; the kernel spreads the connections.
///
/// A class, because a loop keeps several of them in an array, which may hold no `~Copyable` values.
package final class Listener: Sendable {
    private let descriptor: FileDescriptor
    /// The port it got, also when 0 was asked for.
    package let port: UInt16

    /// Listens on `host`: `*` is every address, IPv6 dual stack or else IPv4; otherwise an address or a name, which
    /// blocks while it is looked up.
    ///
    /// With `exclusiveProbe` a port that any other socket listens on is refused, even one that would share it: pass it
    /// for the first of the listeners that share a port, so that a second gateway does not steal half the connections.
    package init(
        host: String,
        port: UInt16,
        exclusiveProbe: Bool = false,
        options: Options = Options()
    ) throws(SystemError) {
        var failure = SystemError(call: "bind", number: EADDRNOTAVAIL)
        for address in try SocketAddress.resolve(host: host, port: port) {
            do {
                if exclusiveProbe && port != 0 { _ = try boundSocket(address, shared: false, anyHost: host == "*") }
                let socket = try boundSocket(address, shared: true, anyHost: host == "*")
                if let patience = options.patience { try socket.set(patience) }
                try attempt("listen") { listen(socket.number, options.backlog) }
                self.port = try SocketAddress.port(of: socket.number)
                descriptor = socket
                return
            } catch {
                failure = error
                // Only what this address cannot do at all is a reason to try the next: without IPv6, `*` is IPv4.
                guard [EAFNOSUPPORT, EADDRNOTAVAIL].contains(error.number) else { break }
            }
        }
        throw failure
    }

    /// Watch this for reading, then call `accept`.
    package var number: Int32 { descriptor.number }

    /// The next connection; nil when none waits. Throws when it cannot have a descriptor
    /// (`SystemError.isOutOfResources`): then stop watching for a moment, or the loop spins.
    package func accept() throws(SystemError) -> Accepted? {
        while true {
            var peer = sockaddr_storage()
            let number = carillon_accept(descriptor.number, &peer)
            if number >= 0 { return Accepted(descriptor: FileDescriptor(owning: number), peer: PeerAddress(peer)) }
            let error = SystemError(call: "accept", number: errno)
            if error.number == EAGAIN { return nil }
            // Anything else is what went wrong with the one connection that was taken off the queue (accept(2)).
            if error.isOutOfResources || [EBADF, EINVAL, ENOTSOCK, EFAULT].contains(error.number) { throw error }
        }
    }
}

extension Listener {
    /// What may differ between listeners.
    package struct Options: Sendable {
        /// Connections the kernel holds until they are accepted; its own bound is `net.core.somaxconn`.
        package var backlog: Int32 = 4096
        /// How long the kernel waits for accepted peers; nil is what the system has.
        package var patience: Patience?

        package init(patience: Patience? = nil) { self.patience = patience }
    }

    /// When the kernel gives up a peer that is gone without a word, in seconds.
    package struct Patience: Sendable {
        /// Silence after which it asks.
        let idle: Int32
        /// From one question to the next.
        let interval: Int32
        /// Questions without an answer.
        let probes: Int32

        package init(idle: Int32, interval: Int32, probes: Int32) {
            (self.idle, self.interval, self.probes) = (idle, interval, probes)
        }

        /// How long sent bytes may lie unacknowledged, or a peer may take none, in milliseconds: as long as silence may
        /// last in all, for the kernel also ends unanswered questions by it.
        var unacknowledgedMilliseconds: Int32 { (idle + interval * probes) * 1000 }
    }
}

/// A connection that came in, and from where.
package struct Accepted: ~Copyable, Sendable {
    /// Non-blocking, without Nagle's delay, with TCP keepalive.
    package var descriptor: FileDescriptor
    /// Who connected.
    package let peer: PeerAddress

    /// The descriptor, for its next owner.
    package consuming func takeDescriptor() -> FileDescriptor { descriptor }
}

extension FileDescriptor {
    fileprivate func set(_ patience: Listener.Patience) throws(SystemError) {
        let level = Int32(IPPROTO_TCP)
        try set(level, TCP_KEEPIDLE, patience.idle)
        try set(level, TCP_KEEPINTVL, patience.interval)
        try set(level, TCP_KEEPCNT, patience.probes)
        try set(level, TCP_USER_TIMEOUT, patience.unacknowledgedMilliseconds)
    }
}

private func boundSocket(
    _ address: SocketAddress,
    shared: Bool,
    anyHost: Bool
) throws(SystemError) -> FileDescriptor {
    let socket = try FileDescriptor.streamSocket(family: address.family)
    try socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
    if shared { try socket.set(SOL_SOCKET, SO_REUSEPORT, 1) }
    if anyHost && address.family == AF_INET6 { try socket.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    // Accepted sockets inherit these, which saves two system calls for each.
    try socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    try socket.set(SOL_SOCKET, SO_KEEPALIVE, 1)
    try attempt("bind") { address.withPointer { bind(socket.number, $0, $1) } }
    return socket
}
