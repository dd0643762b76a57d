/// What a load balancer says in front of a connection that it passes on: the PROXY protocol, version 2. A pure value.
package struct ProxyHeader: Equatable, Sendable {
    /// Who connected to the balancer; nil when the balancer speaks for itself, or for what has no IP address: then the
    /// socket's peer counts.
    package let source: PeerAddress?

    /// Bytes of a header, with addresses and all that may follow them: balancers are told to stay below 536
    /// (the protocol's section 2.2), and some add a certificate's names.
    package static let countLimit = 2048
    /// Signature, version and command, family, and the count of what follows.
    static let prefixCount = 16
    static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]

    package init(source: PeerAddress?) { self.source = source }
}

/// Why what came first is not a header that can be taken.
package enum ProxyHeaderError: Error, Equatable {
    /// No header at all: whoever it is did not come through the balancer.
    case missing
    /// The text form of version 1, which a balancer can be told to leave.
    case version1
    /// A header, but of another version, command, transport or size than there are.
    case malformed
}

/// Puts a header together from what comes, and asks for no byte beyond it: those are TLS.
package struct ProxyHeaderDecoder: Sendable {
    private var bytes: [UInt8] = []

    package init() {}

    /// How many bytes it can take now.
    package var wanted: Int { (total ?? ProxyHeader.prefixCount) - bytes.count }

    /// Takes bytes, at most `wanted`. Returns the header once it is whole; after a throw there is none to come.
    package mutating func append(_ more: ArraySlice<UInt8>) throws(ProxyHeaderError) -> ProxyHeader? {
        precondition(more.count <= wanted, "bytes behind the header are not its own")
        bytes += more
        try checkSignature()
        guard let total else { return nil }
        guard total <= ProxyHeader.countLimit, bytes[12] >> 4 == 2 else { throw .malformed }
        return bytes.count == total ? try header() : nil
    }

    /// Bytes of the whole header, once that is known.
    private var total: Int? {
        guard bytes.count >= ProxyHeader.prefixCount else { return nil }
        return ProxyHeader.prefixCount + Int(bytes[14]) << 8 + Int(bytes[15])
    }

    /// At the first byte that is wrong, so that a stranger does not wait for the deadline.
    private func checkSignature() throws(ProxyHeaderError) {
        let signature = ProxyHeader.signature
        guard !signature.starts(with: bytes.prefix(signature.count)) else { return }
        let text = Array("PROXY ".utf8)
        guard !text.starts(with: bytes.prefix(text.count)) else {
            if bytes.count < text.count { return }
            throw .version1
        }
        throw .missing
    }

    private func header() throws(ProxyHeaderError) -> ProxyHeader {
        switch bytes[12] & 0x0f {
        case 0: return ProxyHeader(source: nil)
        case 1: break
        default: throw .malformed
        }
        // Behind the addresses, which come with source first, are extensions: nothing here needs them.
        let addresses = bytes[ProxyHeader.prefixCount...]
        switch bytes[13] {
        case 0x11 where addresses.count >= 12: return ProxyHeader(source: PeerAddress(Array(addresses.prefix(4))))
        case 0x21 where addresses.count >= 36: return ProxyHeader(source: PeerAddress(Array(addresses.prefix(16))))
        // Of no family, or from a socket of the balancer's own machine.
        case 0x00, 0x31: return ProxyHeader(source: nil)
        default: throw .malformed
        }
    }
}
