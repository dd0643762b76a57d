import COpenSSL

/// The sending direction: content in, records out.
package struct RecordSealer: ~Copyable {
    private var keys: TrafficKeys
    private var lease = CipherPool.Lease()
    private let ciphers: CipherPool
    private let recordsPerKey: UInt64
    /// The peer has asked for new keys. It gets them before the next data, so that asking costs us nothing.
    var owesKeyUpdate = false

    /// AES-GCM may seal 2^24.5 full records with one key (RFC 8446, 5.5); ChaCha20-Poly1305 more than anyone sends.
    package static let usualRecordsPerKey: UInt64 = 1 << 24

    package init(
        keys: consuming TrafficKeys,
        ciphers: CipherPool,
        recordsPerKey: UInt64 = RecordSealer.usualRecordsPerKey
    ) {
        precondition(recordsPerKey > 1, "a key that cannot even announce the next")
        self.keys = keys
        self.ciphers = ciphers
        self.recordsPerKey = recordsPerKey
    }

    deinit {
        var lease = lease
        ciphers.forget(&lease)
    }

    /// Appends `content` to `outgoing`, in records as large as TLS allows.
    package mutating func seal(data content: Span<UInt8>, into outgoing: inout [UInt8]) {
        var start = 0
        while start < content.count {
            let end = min(start + RecordHeader.contentLimit, content.count)
            if owesKeyUpdate || keys.sequence + 1 >= recordsPerKey { updateKeys(into: &outgoing) }
            seal(.applicationData, content.extracting(start..<end), into: &outgoing)
            start = end
        }
    }

    mutating func seal(_ alert: Alert, into outgoing: inout [UInt8]) {
        let message = alert.message
        seal(.alert, message.span, into: &outgoing)
    }

    /// A KeyUpdate is the last record under the old keys. The peer need not change its own.
    private mutating func updateKeys(into outgoing: inout [UInt8]) {
        let message = KeyUpdate.notRequested
        seal(.handshake, message.span, into: &outgoing)
        changeKeys()
        owesKeyUpdate = false
    }

    mutating func changeKeys() {
        keys.update()
        ciphers.forget(&lease)
    }

    mutating func seal(_ type: ContentType, _ content: Span<UInt8>, into outgoing: inout [UInt8]) {
        let payloadCount = content.count + 1 + CipherSuite.tagCount
        let context = ciphers.context(for: &lease, keys, .sealing)
        let nonce = keys.takeNonce()
        // The room is for all of the record: content, type and tag end with it.
        outgoing.append(addingCapacity: RecordHeader.count + payloadCount) { output in
            RecordHeader.append(payloadCount: payloadCount, to: &output)
            output.withUnsafeMutableBufferPointer { bytes, count in
                let inner = bytes.baseAddress! + count
                let isSealed = content.withUnsafeBufferPointer { content in
                    inner[content.count] = type.rawValue
                    return encrypt(content, to: inner, context, nonce)
                }
                precondition(isSealed, "OpenSSL cannot encrypt")
                count += payloadCount
            }
        }
    }
}

/// Encrypts `content` to `inner`, which the header precedes, and in place the type that stands there behind it, and
/// writes the tag behind both. Only a lack of memory stops it.
private func encrypt(
    _ content: UnsafeBufferPointer<UInt8>,
    to inner: UnsafeMutablePointer<UInt8>,
    _ context: OpaquePointer,
    _ nonce: UnsafePointer<UInt8>
) -> Bool {
    let header = inner - RecordHeader.count
    let type = inner + content.count
    var moved: Int32 = 0
    // OpenSSL takes no null for nothing.
    let start = content.baseAddress ?? UnsafePointer(inner)
    return EVP_EncryptInit_ex(context, nil, nil, nil, nonce) == 1
        && EVP_EncryptUpdate(context, nil, &moved, header, Int32(RecordHeader.count)) == 1
        && EVP_EncryptUpdate(context, inner, &moved, start, Int32(content.count)) == 1
        && EVP_EncryptUpdate(context, type, &moved, type, 1) == 1
        && EVP_EncryptFinal_ex(context, type + 1, &moved) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(CipherSuite.tagCount), type + 1) == 1
}
