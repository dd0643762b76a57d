import Glibc

/// The text of an IPv4 or IPv6 address from the bytes of a certificate; nil if they are as many as neither has.
func addressText(of bytes: [UInt8]) -> String? {
    let family: Int32
    switch bytes.count {
    case 4: family = AF_INET
    case 16: family = AF_INET6
    default: return nil
    }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
        inet_ntop(family, bytes, text.baseAddress!, socklen_t(text.count)).map { String(cString: $0) }
    }
}
