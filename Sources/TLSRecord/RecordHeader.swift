/// The five bytes before each record, which are also what its tag covers besides its content (RFC 8446, 5.2).
struct RecordHeader {
    /// Bytes behind the header, tag included.
    let payloadCount: Int

    /// Bytes of a header.
    static let count = 5
    /// The most content that a record may have.
    static let contentLimit = 16_384
    /// The most that may follow a header.
    private static let payloadLimit = contentLimit + 256

    /// Reads the header at the start of `bytes`; nil if it is not all there. The version in it means nothing.
    init?(_ bytes: Span<UInt8>) throws(RecordError) {
        guard bytes.count >= Self.count else { return nil }
        // Everything is encrypted by now. What is not would be a change of cipher, or not from this peer.
        guard bytes[0] == ContentType.applicationData.rawValue else { throw .broken(.unexpectedMessage) }
        payloadCount = Int(bytes[3]) << 8 | Int(bytes[4])
        guard payloadCount <= Self.payloadLimit else { throw .broken(.recordOverflow) }
    }

    /// Writes the header of a record with `payloadCount` bytes behind it.
    static func append(payloadCount: Int, to outgoing: inout OutputSpan<UInt8>) {
        outgoing.append(ContentType.applicationData.rawValue)
        outgoing.append(3)
        outgoing.append(3)
        outgoing.append(UInt8(payloadCount >> 8))
        outgoing.append(UInt8(truncatingIfNeeded: payloadCount))
    }
}

/// What a record carries, by its number on the wire.
struct ContentType: RawRepresentable, Equatable {
    let rawValue: UInt8

    static let alert = ContentType(rawValue: 21)
    static let handshake = ContentType(rawValue: 22)
    static let applicationData = ContentType(rawValue: 23)
}
