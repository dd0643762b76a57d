import Glibc

/// A listening socket. libmicrohttpd could open its own, but would not say why it cannot.
struct ListenSocket {
    let descriptor: CInt
    /// The port it has, also if any was asked for.
    let port: UInt16

    /// `*` is IPv6 and IPv4 together, or IPv4 alone where there is no IPv6. Port 0 takes a free one.
    init(host: String, port: UInt16) throws(AdminError) {
        if host == "*" {
            do throws(AdminError) {
                self = try ListenSocket(address: "::", port: port)
            } catch .cannotListen {
                self = try ListenSocket(address: "0.0.0.0", port: port)
            }
        } else {
            self = try ListenSocket(address: host, port: port)
        }
    }

    private init(address host: String, port: UInt16) throws(AdminError) {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &found)
        guard code == 0, let address = found?.pointee else {
            throw .unknownHost(host, reason: String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(found) }

        let name = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        let type = address.ai_socktype | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.ai_family, type, 0)
        guard descriptor >= 0 else { throw .cannotListen(name, reason: lastError()) }
        guard listen(descriptor, to: address) else {
            let error: AdminError =
                errno == EADDRINUSE ? .addressInUse(name) : .cannotListen(name, reason: lastError())
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.port = boundPort(descriptor)
    }
}

private func listen(_ descriptor: CInt, to address: addrinfo) -> Bool {
    var on: CInt = 1
    var off: CInt = 0
    let size = socklen_t(MemoryLayout<CInt>.size)
    // So that a restart need not wait for the connections of the run before.
    guard setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size) == 0 else { return false }
    if address.ai_family == AF_INET6 {
        // `::` also takes IPv4, whatever the system's default is.
        guard setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &off, size) == 0 else { return false }
    }
    return bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 && Glibc.listen(descriptor, 64) == 0
}

private func boundPort(_ descriptor: CInt) -> UInt16 {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    _ = withUnsafeMutableBytes(of: &address) {
        getsockname(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
    }
    // The port stands at the same place for both families.
    return UInt16(bigEndian: address.sin6_port)
}

private func lastError() -> String { String(cString: strerror(errno)) }
