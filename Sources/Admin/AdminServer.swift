import CMicroHTTPD
import Glibc

/// The operators' door: an HTTP/1.1 listener of its own threads that knows nothing of pushes.
///
/// Each connection has a thread, so `respond` may block. Whoever makes a server stops it on the same thread.
package final class AdminServer {
    /// Connections that may be open at a time, each with a descriptor.
    package static let connectionLimit = Bound.connections
    /// The port it listens on, also if any free one was asked for.
    package let port: UInt16

    private let service: Service
    private var daemon: OpaquePointer?

    /// Listens at once. `host` is a name, an address or `*`; `tls` makes it HTTPS.
    package init(
        host: String,
        port: UInt16,
        tls: (certificatePEM: [UInt8], keyPEM: [UInt8])?,
        respond: @escaping @Sendable (AdminRequest) -> AdminResponse
    ) throws(AdminError) {
        let listener = try ListenSocket(host: host, port: port)
        let service = Service(respond: respond)
        guard let daemon = start(service, on: listener.descriptor, tls: tls) else {
            // libmicrohttpd has closed the socket.
            throw tls == nil ? .cannotStart(reason: "out of memory or threads") : .unusableCertificate
        }
        self.port = listener.port
        self.service = service
        self.daemon = daemon
    }

    deinit { stop() }

    /// Ends every connection and returns when no thread is left: within about a second of a stream's `next`.
    package func stop() {
        guard let daemon else { return }
        MHD_stop_daemon(daemon)
        self.daemon = nil
    }
}

/// libmicrohttpd's own bounds; those of a request are in `Exchange` and `MessageHead`.
private enum Bound {
    /// Threads: past `ConnectionTable.places` one goes for each that comes.
    static let connections = ConnectionTable.places + ConnectionTable.spares
    /// Silence that ends a connection.
    static let idleSeconds = 60
    /// Memory of one connection, hence its request line and headers together; beyond it the answer is 431. More than
    /// 32 KiB is mapped for each connection alone, and given back to the system with the token that was in it.
    static let connectionMemory = 36 << 10
}

private func start(
    _ service: Service,
    on descriptor: CInt,
    tls: (certificatePEM: [UInt8], keyPEM: [UInt8])?
) -> OpaquePointer? {
    let options = [
        MHD_OptionItem(option: .LISTEN_SOCKET, value: Int(descriptor), ptr_value: nil),
        MHD_OptionItem(option: .CONNECTION_LIMIT, value: Bound.connections, ptr_value: nil),
        MHD_OptionItem(option: .CONNECTION_TIMEOUT, value: Bound.idleSeconds, ptr_value: nil),
        MHD_OptionItem(option: .CONNECTION_MEMORY_LIMIT, value: Bound.connectionMemory, ptr_value: nil),
        // A request that other parsers may read differently is refused.
        MHD_OptionItem(option: .STRICT_FOR_CLIENT, value: 1, ptr_value: nil),
    ]
    guard let tls else { return start(service, options: options, flags: 0) }

    // libmicrohttpd reads all three texts while it starts and not later.
    let certificate = tls.certificatePEM + [0]
    var key = tls.keyPEM + [0]
    defer { key.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
    let versions = Array("NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2\0".utf8)
    return certificate.withUnsafeBytes { certificate in
        key.withUnsafeBytes { key in
            versions.withUnsafeBytes { versions in
                let secure = [
                    MHD_OptionItem(
                        option: .HTTPS_MEM_CERT,
                        value: 0,
                        ptr_value: .init(mutating: certificate.baseAddress)
                    ),
                    MHD_OptionItem(option: .HTTPS_MEM_KEY, value: 0, ptr_value: .init(mutating: key.baseAddress)),
                    MHD_OptionItem(
                        option: .HTTPS_PRIORITIES,
                        value: 0,
                        ptr_value: .init(mutating: versions.baseAddress)
                    ),
                ]
                return start(service, options: options + secure, flags: MHD_USE_TLS.rawValue)
            }
        }
    }
}

private func start(_ service: Service, options: [MHD_OptionItem], flags: UInt32) -> OpaquePointer? {
    // libmicrohttpd borrows the service: the server owns both and stops the daemon first.
    var callbacks = Exchange.callbacks(context: Unmanaged.passUnretained(service).toOpaque())
    let threads = MHD_USE_THREAD_PER_CONNECTION.rawValue | MHD_USE_INTERNAL_POLLING_THREAD.rawValue
    let waiting = MHD_USE_POLL.rawValue | MHD_USE_ITC.rawValue
    let end = [MHD_OptionItem(option: .END, value: 0, ptr_value: nil)]
    return CMicroHTTPD_start(threads | waiting | flags, &callbacks, options + end)
}
