import COpenSSL

/// OpenSSL's parsed certificate: immutable once it is built, so it may be shared between threads.
final class X509: Sendable {
    private let address: UInt
    var raw: OpaquePointer { OpaquePointer(bitPattern: address)! }

    init(owning raw: OpaquePointer) { address = UInt(bitPattern: raw) }

    /// Reads DER, and nothing that only means the same: or one certificate would have many digests.
    convenience init(der: Span<UInt8>) throws(TLSError) {
        self.init(owning: try decodeDER(der, free: { X509_free($0) }) { d2i_X509(nil, $0, $1) })
        let canonical = self.der
        let same = der.count == canonical.count && der.indices.allSatisfy { der[$0] == canonical[$0] }
        guard same else { throw .credentials("not DER") }
    }

    deinit { X509_free(raw) }

    /// The key as it stands in the certificate: cheaper than encoding it anew.
    var spki: [UInt8] { encodeDER { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(raw), $0) } }

    var der: [UInt8] { encodeDER { i2d_X509(raw, $0) } }
}

/// All certificates of a PEM text, at least one.
func readCertificates(_ pem: [UInt8]) throws(TLSError) -> [X509] {
    try readPEM(pem) { bio in
        var certificates: [X509] = []
        while let raw = PEM_read_bio_X509(bio, nil, noPassphrase, nil) { certificates.append(X509(owning: raw)) }
        // The end of the text also reads as "no start line"; any other reason means a broken entry.
        let ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
        return ended && !certificates.isEmpty ? certificates : nil
    }
}
