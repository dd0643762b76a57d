import CNGHTTP2
import Glibc

/// Whether the headers of one request are those of a request: RFC 9113 sections 8.2 and 8.3, as far as they have come.
///
/// nghttp2 can judge this too, and judged each byte of each name and value: 5,000 of the 26,000 instructions of a
/// request. Here a name that we want is good because it is one of ours, and values are looked at eight bytes at a
/// time; what is rare is still asked of nghttp2. A test holds both to the same verdicts.
struct HeaderRules {
    private struct Seen: OptionSet {
        let rawValue: UInt8
        static let method = Seen(rawValue: 1)
        static let scheme = Seen(rawValue: 2)
        static let path = Seen(rawValue: 4)
        static let authority = Seen(rawValue: 8)
        static let host = Seen(rawValue: 16)
        /// One that is no pseudo header: none of those may follow.
        static let regular = Seen(rawValue: 32)
        static let request: Seen = [.method, .scheme, .path]
    }

    private var seen: Seen = []
    private var isConnect = false
    private var isOptions = false
    private var isWeb = false
    private var pathStart: UInt8 = 0
    /// What content-length says; nil when it does not.
    private var contentLength: Int?

    /// Looks at the next field. False if no request may have it; then the stream is reset. `isWanted` tells that the
    /// name is one of ours.
    mutating func admit(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        isWanted: Bool,
        isTrailer: Bool
    ) -> Bool {
        if name.first == UInt8(ascii: ":") {
            return !isTrailer && !seen.contains(.regular) && !value.isEmpty && admitPseudo(name, value)
        }
        seen.insert(.regular)
        guard isWanted || nghttp2_check_header_name(name.baseAddress, name.count) != 0, isFieldValue(value) else {
            return false
        }
        return isWanted || admitRegular(name, value)
    }

    /// Whether the fields that have come make a request.
    var isRequest: Bool {
        if isConnect { return seen.isDisjoint(with: [.scheme, .path]) && seen.contains(.authority) }
        guard seen.isSuperset(of: .request), !seen.isDisjoint(with: [.authority, .host]) else { return false }
        return !isWeb || pathStart == UInt8(ascii: "/") || isOptions && pathStart == UInt8(ascii: "*")
    }

    /// Whether a body of so many bytes, or its beginning unless it `isWhole`, is as long as was said.
    func allows(_ count: Int, isWhole: Bool) -> Bool {
        guard let contentLength, !isConnect else { return true }
        return isWhole ? count == contentLength : count <= contentLength
    }

    private mutating func admitPseudo(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        if equal(name, ":path") {
            pathStart = value.count == 1 || value[0] == UInt8(ascii: "/") ? value[0] : 0
            return first(.path) && isPath(value)
        }
        if equal(name, ":method") {
            isConnect = equal(value, "CONNECT")
            isOptions = equal(value, "OPTIONS")
            return first(.method) && (equal(value, "POST") || nghttp2_check_method(value.baseAddress, value.count) != 0)
        }
        if equal(name, ":scheme") {
            isWeb = isAnyCase(value, "https") || isAnyCase(value, "http")
            return first(.scheme) && (isWeb || isScheme(value))
        }
        return equal(name, ":authority") && first(.authority) && isAuthority(value)
    }

    private mutating func admitRegular(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        switch name.count {
        case 2: return !equal(name, "te") || isAnyCase(value, "trailers")
        case 4: return !equal(name, "host") || !value.isEmpty && first(.host) && isAuthority(value)
        case 14: return !equal(name, "content-length") || takeLength(value)
        case 7, 10, 16, 17: return !connectionHeaders.contains { equal(name, $0) }
        default: return true
        }
    }

    /// Notes that a field has come. False if it had come before.
    private mutating func first(_ field: Seen) -> Bool { seen.insert(field).inserted }

    private mutating func takeLength(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard contentLength == nil, !value.isEmpty else { return false }
        var length = 0
        for byte in value {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return false }
            let (tens, isTooLarge) = length.multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeStill) = tens.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            guard !isTooLarge, !isTooLargeStill else { return false }
            length = sum
        }
        contentLength = length
        return true
    }
}

/// Headers about a connection of HTTP/1, which no request of HTTP/2 may have (RFC 9113 8.2.2).
private let connectionHeaders: [StaticString] = [
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
]

private func equal(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
    guard let start = bytes.baseAddress, bytes.count == text.utf8CodeUnitCount else { return false }
    return memcmp(start, text.utf8Start, bytes.count) == 0
}

/// `text` is in lower case.
private func isAnyCase(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
    bytes.count == text.utf8CodeUnitCount && bytes.indices.allSatisfy { bytes[$0] | 0x20 == text.utf8Start[$0] }
}

/// Any bytes but controls; a tab is none.
private func isFieldValue(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
    !hasControl(value, below: 0x20) || nghttp2_check_header_value(value.baseAddress, value.count) != 0
}

/// Any bytes but controls and spaces.
private func isPath(_ value: UnsafeBufferPointer<UInt8>) -> Bool { !hasControl(value, below: 0x21) }

private func isAuthority(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
    nghttp2_check_authority(value.baseAddress, value.count) != 0
}

/// A letter, then letters, digits, plus, minus and dots (RFC 3986 3.1).
private func isScheme(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
    func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
    return isLetter(value[0])
        && value.allSatisfy { byte in
            isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
}

/// Whether a byte is below `limit`, at most 0x80, or DEL. Eight bytes at a time, without a way out before the end: the
/// usual answer is no. The borrow of a byte that is too small may mark its neighbour, too, which changes nothing.
@inline(__always)
private func hasControl(_ bytes: UnsafeBufferPointer<UInt8>, below limit: UInt8) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let raw = UnsafeRawBufferPointer(bytes)
    var found: UInt64 = 0
    var place = 0
    while place + 8 <= raw.count {
        let word = raw.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        let marked = word ^ (ones &* 0x7f)
        found |= (word &- ones &* UInt64(limit)) & ~word | (marked &- ones) & ~marked
        place += 8
    }
    if found & (ones &* 0x80) != 0 { return true }
    while place < raw.count {
        if raw[place] < limit || raw[place] == 0x7f { return true }
        place += 1
    }
    return false
}
