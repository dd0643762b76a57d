import COpenSSL

/// The receiving direction: whole records in, content out.
package struct RecordOpener: ~Copyable {
    /// What a record held: so many bytes of content.
    struct Opened {
        let type: ContentType
        let count: Int
    }

    private var keys: TrafficKeys
    private var lease = CipherPool.Lease()
    private let ciphers: CipherPool

    package init(keys: consuming TrafficKeys, ciphers: CipherPool) {
        self.keys = keys
        self.ciphers = ciphers
    }

    deinit {
        var lease = lease
        ciphers.forget(&lease)
    }

    /// Goes on to the peer's next keys.
    mutating func updateKeys() {
        keys.update()
        ciphers.forget(&lease)
    }

    /// Decrypts one record, header included, to `plaintext` from `start` on, where the array grows if it must.
    ///
    /// When this throws, what lies there from `start` on is not to be believed.
    mutating func open(
        _ record: Span<UInt8>,
        into plaintext: inout [UInt8],
        at start: Int
    ) throws(RecordError) -> Opened {
        let innerCount = record.count - RecordHeader.count - CipherSuite.tagCount
        guard innerCount >= 0 else { throw .broken(.badRecordMAC) }
        // Content, its type and padding together (RFC 8446, 5.4).
        guard innerCount <= RecordHeader.contentLimit + 1 else { throw .broken(.recordOverflow) }
        let missing = start + innerCount - plaintext.count
        if missing > 0 { plaintext.append(contentsOf: repeatElement(0, count: missing)) }

        let context = ciphers.context(for: &lease, keys, .opening)
        let nonce = keys.takeNonce()
        let isGenuine = plaintext.withUnsafeMutableBufferPointer { bytes in
            record.withUnsafeBufferPointer {
                decrypt($0.baseAddress!, to: bytes.baseAddress! + start, count: innerCount, context, nonce)
            }
        }
        guard isGenuine else { throw .broken(.badRecordMAC) }
        guard let opened = unpadded(plaintext.span.extracting(start..<(start + innerCount))) else {
            throw .broken(.unexpectedMessage)
        }
        return opened
    }
}

/// Decrypts the record at `record` to `inner`; false if its tag is wrong.
private func decrypt(
    _ record: UnsafePointer<UInt8>,
    to inner: UnsafeMutablePointer<UInt8>,
    count: Int,
    _ context: OpaquePointer,
    _ nonce: UnsafePointer<UInt8>
) -> Bool {
    var moved: Int32 = 0
    let sealed = record + RecordHeader.count
    let tag = UnsafeMutablePointer(mutating: sealed + count)
    return EVP_DecryptInit_ex(context, nil, nil, nil, nonce) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(CipherSuite.tagCount), tag) == 1
        && EVP_DecryptUpdate(context, nil, &moved, record, Int32(RecordHeader.count)) == 1
        && EVP_DecryptUpdate(context, inner, &moved, sealed, Int32(count)) == 1
        && EVP_DecryptFinal_ex(context, inner + Int(moved), &moved) == 1
}

/// Finds the type, which is the last byte that is not padding; nil if there is none.
private func unpadded(_ inner: Span<UInt8>) -> RecordOpener.Opened? {
    var end = inner.count
    while end > 0, inner[end - 1] == 0 { end -= 1 }
    guard end > 0 else { return nil }
    return RecordOpener.Opened(type: ContentType(rawValue: inner[end - 1]), count: end - 1)
}
