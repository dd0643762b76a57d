import CLinux
import Glibc

/// An address and port in the system's form.
struct SocketAddress {
    private var storage: sockaddr_storage
    private let length: socklen_t

    var family: Int32 { Int32(storage.ss_family) }

    /// Calls `body` with what bind and connect want.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// What `host` stands for, in the order to try: `*` is every address of this machine, IPv6 dual stack first.
    /// Blocks while a name is looked up. Throws an `EAI` code when there is no such name.
    static func resolve(host: String, port: UInt16) throws(SystemError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host == "*" ? nil : host, String(port), &hints, &list)
        guard result == 0 else {
            throw SystemError(call: "getaddrinfo", number: result == EAI_SYSTEM ? errno : result)
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let info = next?.pointee {
            if let address = SocketAddress(info) { addresses.append(address) }
            next = info.ai_next
        }
        return host == "*" ? addresses.sorted { $0.family == AF_INET6 && $1.family != AF_INET6 } : addresses
    }

    /// 127.0.0.`last`, any port: one more address of this machine's for itself.
    init(loopback last: UInt8) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = (0x7f00_0000 | UInt32(last)).bigEndian
        storage = sockaddr_storage()
        length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutableBytes(of: &storage) { storage in
            withUnsafeBytes(of: address) { storage.copyMemory(from: $0) }
        }
    }

    /// Whether it lies in 127.0.0.0/8.
    var isLoopback: Bool {
        // The address stands behind family and port, most significant byte first.
        family == AF_INET && withUnsafeBytes(of: storage) { $0[4] == 127 }
    }

    private init?(_ info: addrinfo) {
        guard [AF_INET, AF_INET6].contains(info.ai_family), let source = info.ai_addr else { return nil }
        storage = sockaddr_storage()
        length = info.ai_addrlen
        let count = Int(info.ai_addrlen)
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: source, count: count))
        }
    }

    /// The port a bound socket got.
    static func port(of number: Int32) throws(SystemError) -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        try attempt("getsockname") {
            withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &length) }
            }
        }
        // The port stands at the same place in both families: after the family, in network order.
        return withUnsafeBytes(of: &storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }
}
