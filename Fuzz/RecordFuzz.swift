import COpenSSL
import TLSRecord

/// A stream of records, some good, some not, gives the same as a second reader that is written from the RFC alone and
/// has its keys and ciphers from other calls of OpenSSL; and the same however it is cut.
func fuzzRecord(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let suite = CipherSuite.allCases[Int(first) % CipherSuite.allCases.count]
    let stream = written(input.dropFirst(), suite)
    var reader = ReferenceReader(suite)
    let expected = reader.read(stream)

    let dripped = read(stream, suite, cut: 1)
    precondition(dripped == expected, "two opinions of a stream")
    for cut in [7, 1_000, Int.max] {
        let other = read(stream, suite, cut: cut)
        precondition(other.error == dripped.error && other.isClosed == dripped.isClosed, "the cut changes the end")
        // What came in the same piece as an error is not given out.
        precondition(dripped.content.starts(with: other.content), "the cut changes the content")
        precondition(other.error != nil || other.content == dripped.content, "the cut changes the content")
    }
    sealed(input, suite)
}

/// What a stream of records came to.
private struct Reading: Equatable {
    var content: [UInt8] = []
    var error: RecordError?
    var isClosed = false
}

private func read(_ stream: [UInt8], _ suite: CipherSuite, cut: Int) -> Reading {
    let ciphers = CipherPool(capacity: 1)
    var session = RecordSession(
        opener: RecordOpener(keys: keys(suite), ciphers: ciphers),
        sealer: RecordSealer(keys: keys(suite), ciphers: ciphers)
    )
    var (reading, plaintext): (Reading, [UInt8]) = (Reading(), [])
    var position = 0
    while position < stream.count, reading.error == nil {
        let end = position + min(cut, stream.count - position)
        do throws(RecordError) {
            let count = try session.receive(stream.span.extracting(position..<end), into: &plaintext)
            reading.content += plaintext[..<count]
        } catch {
            var alerts: [UInt8] = []
            session.fail(error, into: &alerts)
            reading.error = error
        }
        position = end
    }
    reading.isClosed = session.isPeerClosed
    return reading
}

/// What our sealer writes, the second reader reads.
private func sealed(_ content: [UInt8], _ suite: CipherSuite) {
    var sealer = RecordSealer(keys: keys(suite), ciphers: CipherPool(capacity: 1), recordsPerKey: 3)
    var stream: [UInt8] = []
    for start in stride(from: 0, to: content.count, by: 5_000) {
        let end = min(start + 5_000, content.count)
        sealer.seal(data: content.span.extracting(start..<end), into: &stream)
    }
    var reader = ReferenceReader(suite)
    precondition(reader.read(stream) == Reading(content: content), "what was sealed cannot be read")
}

private func firstSecret(_ suite: CipherSuite) -> [UInt8] { [UInt8](repeating: 0x5a, count: suite.secretCount) }

private func keys(_ suite: CipherSuite) -> TrafficKeys {
    let secret = firstSecret(suite)
    return TrafficKeys(suite: suite, secret: TrafficSecret(copying: secret.span))
}

/// The records that an input asks for: each instruction is how, which type, how much, and so many bytes.
private func written(_ input: ArraySlice<UInt8>, _ suite: CipherSuite) -> [UInt8] {
    var (keys, stream) = (ReferenceKeys(suite), [UInt8]())
    var rest = input
    while rest.count >= 3, stream.count < 200_000 {
        let (how, type, count) = (rest.removeFirst(), rest.removeFirst(), Int(rest.removeFirst()))
        let bytes = Array(rest.prefix(count))
        rest = rest.dropFirst(count)
        switch how % 8 {
        case 0: stream += bytes
        case 1:
            var record = keys.seal(bytes + [type])
            record[record.count - 1 - Int(how / 8) % record.count] ^= 1 << (type & 7)
            stream += record
        case 2: stream += keys.seal(bytes + [type] + [UInt8](repeating: 0, count: Int(how / 8) * 600))
        case 3: stream += keys.seal([UInt8](repeating: 1, count: 16_370 + count % 32) + [type])
        case 4:
            stream += keys.seal(bytes + [type])
            keys.update()
        case 5:
            stream += keys.seal([24, 0, 0, 1, type & 1, 22])
            keys.update()
        default: stream += keys.seal(bytes + [type])
        }
    }
    return stream
}

/// Reads a whole stream, rule by rule in the order of RFC 8446, 5 and 6.
private struct ReferenceReader {
    private var keys: ReferenceKeys
    private var message: [UInt8] = []
    private var fruitless = 0
    private var reading = Reading()

    init(_ suite: CipherSuite) { keys = ReferenceKeys(suite) }

    mutating func read(_ stream: [UInt8]) -> Reading {
        var rest = stream[...]
        while rest.count >= 5, reading.error == nil, !reading.isClosed {
            let header = Array(rest.prefix(5))
            let length = Int(header[3]) * 256 + Int(header[4])
            if header[0] != 23 {
                refuse(10)
            } else if length > 16_640 {
                refuse(22)
            } else if rest.count < 5 + length {
                return reading
            } else {
                take(header, Array(rest.dropFirst(5).prefix(length)))
                rest = rest.dropFirst(5 + length)
            }
        }
        return reading
    }

    private mutating func refuse(_ alert: UInt8) { reading.error = .broken(Alert(rawValue: alert)) }

    private mutating func take(_ header: [UInt8], _ payload: [UInt8]) {
        guard payload.count >= 16 else { return refuse(20) }
        guard payload.count <= 16_401 else { return refuse(22) }
        guard let inner = keys.open(header, payload) else { return refuse(20) }
        guard let end = inner.lastIndex(where: { $0 != 0 }) else { return refuse(10) }
        let (type, content) = (inner[end], Array(inner[..<end]))
        if type == 23, !content.isEmpty, message.isEmpty {
            fruitless = 0
            reading.content += content
            return
        }
        fruitless += 1
        if fruitless > RecordSession.fruitlessLimit { return refuse(10) }
        if type == 22 { return takeMessage(content) }
        if !message.isEmpty { return refuse(10) }
        switch type {
        case 21 where content.isEmpty: refuse(10)
        case 21 where content.count != 2: refuse(50)
        case 21 where content[1] == 0: reading.isClosed = true
        case 21 where content[1] == 90: break
        case 21: reading.error = .refused(Alert(rawValue: content[1]))
        case 23: break
        default: refuse(10)
        }
    }

    private mutating func takeMessage(_ content: [UInt8]) {
        if content.isEmpty { return refuse(10) }
        message += content
        if message[0] != 24 { return refuse(10) }
        if !message.dropFirst().prefix(3).elementsEqual([0, 0, 1].prefix(message.count - 1)) { return refuse(50) }
        guard message.count > 4 else { return }
        if message[4] > 1 { return refuse(47) }
        if message.count > 5 { return refuse(10) }
        message = []
        keys.update()
    }
}

/// Keys of one direction, from OpenSSL's HKDF, with a new cipher context for each record.
private struct ReferenceKeys {
    private let suite: CipherSuite
    private var secret: [UInt8]
    private var key: [UInt8] = []
    private var iv: [UInt8] = []
    private var sequence: UInt64 = 0

    init(_ suite: CipherSuite) {
        self.suite = suite
        secret = firstSecret(suite)
        derive()
    }

    mutating func update() {
        secret = expand("traffic upd", count: secret.count)
        derive()
        sequence = 0
    }

    private mutating func derive() {
        key = expand("key", count: suite == .aes128GCMSHA256 ? 16 : 32)
        iv = expand("iv", count: 12)
    }

    private mutating func nonce() -> [UInt8] {
        defer { sequence += 1 }
        let number =
            [UInt8](repeating: 0, count: 4) + (0..<8).map { UInt8(truncatingIfNeeded: sequence >> (56 - 8 * $0)) }
        return zip(iv, number).map { $0 ^ $1 }
    }

    private var cipher: OpaquePointer {
        switch suite {
        case .aes128GCMSHA256: EVP_aes_128_gcm()
        case .aes256GCMSHA384: EVP_aes_256_gcm()
        case .chaCha20Poly1305SHA256: EVP_chacha20_poly1305()
        }
    }

    mutating func seal(_ inner: [UInt8]) -> [UInt8] {
        let header: [UInt8] = [23, 3, 3, UInt8((inner.count + 16) >> 8), UInt8((inner.count + 16) & 255)]
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var (sealed, tag) = ([UInt8](repeating: 0, count: inner.count), [UInt8](repeating: 0, count: 16))
        var moved: Int32 = 0
        EVP_EncryptInit_ex(context, cipher, nil, key, nonce())
        EVP_EncryptUpdate(context, nil, &moved, header, 5)
        EVP_EncryptUpdate(context, &sealed, &moved, inner, Int32(inner.count))
        EVP_EncryptFinal_ex(context, nil, &moved)
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag)
        return header + sealed + tag
    }

    mutating func open(_ header: [UInt8], _ payload: [UInt8]) -> [UInt8]? {
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        let sealed = Array(payload.dropLast(16))
        var (inner, tag) = ([UInt8](repeating: 0, count: sealed.count), Array(payload.suffix(16)))
        var moved: Int32 = 0
        EVP_DecryptInit_ex(context, cipher, nil, key, nonce())
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag)
        EVP_DecryptUpdate(context, nil, &moved, header, 5)
        if !sealed.isEmpty { EVP_DecryptUpdate(context, &inner, &moved, sealed, Int32(sealed.count)) }
        var end: [UInt8] = [0]
        return EVP_DecryptFinal_ex(context, &end, &moved) == 1 ? inner : nil
    }

    private func expand(_ label: String, count: Int) -> [UInt8] {
        let name = Array("tls13 \(label)".utf8)
        let info = [0, UInt8(count), UInt8(name.count)] + name + [0]
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "HKDF", nil) else { preconditionFailure("no HKDF") }
        defer { EVP_PKEY_CTX_free(context) }
        var (output, outputCount) = ([UInt8](repeating: 0, count: count), count)
        let isDone =
            EVP_PKEY_derive_init(context) == 1
            && EVP_PKEY_CTX_ctrl_str(context, "mode", "EXPAND_ONLY") == 1
            && EVP_PKEY_CTX_ctrl_str(context, "md", suite == .aes256GCMSHA384 ? "SHA384" : "SHA256") == 1
            && EVP_PKEY_CTX_ctrl_str(context, "hexkey", hexadecimal(secret)) == 1
            && EVP_PKEY_CTX_ctrl_str(context, "hexinfo", hexadecimal(info)) == 1
            && EVP_PKEY_derive(context, &output, &outputCount) == 1
        precondition(isDone, "HKDF failed")
        return output
    }
}

private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}
