import CLinux

/// Where a connection came from, without the port: 16 bytes, IPv4 as an IPv4-mapped IPv6 address.
package struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// What stands before the four bytes of an IPv4 address.
    private static let mappedPrefix: UInt64 = 0xffff_0000_0000

    /// Takes the 16 bytes of an IPv6 address, or the 4 of an IPv4 address; nil for any other count.
    package init?(_ bytes: [UInt8]) {
        switch bytes.count {
        case 4: (high, low) = (0, Self.mappedPrefix | number(bytes[...]))
        case 16: (high, low) = (number(bytes[..<8]), number(bytes[8...]))
        default: return nil
        }
    }

    /// The address that accept or getpeername filled in; all zero for a family that is not IP.
    init(_ storage: sockaddr_storage) {
        let bytes = withUnsafeBytes(of: storage) { bytes -> [UInt8] in
            switch Int32(storage.ss_family) {
            case AF_INET: Array(bytes[4..<8])
            case AF_INET6: Array(bytes[8..<24])
            default: []
            }
        }
        self = PeerAddress(bytes) ?? PeerAddress(high: 0, low: 0)
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The network address, in network order.
    package var bytes: [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> UInt64(56 - 8 * ($0 & 7))) }
    }

    /// Whether it is an IPv4 address, also mapped into IPv6.
    package var isIPv4: Bool { high == 0 && low >> 32 == Self.mappedPrefix >> 32 }

    /// `127.0.0.0/8` or `::1`: the peer is on this machine.
    package var isLoopback: Bool { isIPv4 ? (low >> 24) & 0xff == 127 : high == 0 && low == 1 }

    /// What stands for one subscriber: an IPv4 address, or the first 64 bits of an IPv6 address, because who has one of
    /// those has all that begin with it.
    package var network: PeerAddress { isIPv4 || isLoopback ? self : PeerAddress(high: high, low: 0) }

    /// Dotted for IPv4, else as RFC 5952 writes it.
    package var description: String {
        if isIPv4 { return bytes[12...].map { "\($0)" }.joined(separator: ".") }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard bytes.withUnsafeBytes({ inet_ntop(AF_INET6, $0.baseAddress, &text, socklen_t(INET6_ADDRSTRLEN)) }) != nil
        else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

private func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
