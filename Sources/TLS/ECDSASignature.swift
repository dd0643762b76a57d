import COpenSSL

/// The two encodings of a P-256 signature: raw (r then s, 32 bytes each) and DER.
enum ECDSASignature {
    static let rawCount = 64
    private static let numberCount = 32

    /// DER by hand: half the price of OpenSSL's way, and a JWT is verified on the hot path.
    static func der(raw: Span<UInt8>) -> [UInt8] {
        precondition(raw.count == rawCount, "a raw P-256 signature has 64 bytes")
        var numbers: [UInt8] = []
        numbers.reserveCapacity(rawCount + 8)
        appendInteger(raw.extracting(0..<numberCount), to: &numbers)
        appendInteger(raw.extracting(numberCount..<rawCount), to: &numbers)
        // At most 70 bytes, so each length fits in its short form.
        return [0x30, UInt8(numbers.count)] + numbers
    }

    /// Raw from DER that OpenSSL has made.
    static func raw(der: [UInt8]) throws(TLSError) -> [UInt8] {
        let signature = try decodeDER(der.span, free: { ECDSA_SIG_free($0) }) { d2i_ECDSA_SIG(nil, $0, $1) }
        defer { ECDSA_SIG_free(signature) }
        return [UInt8](unsafeUninitializedCapacity: rawCount) { buffer, initialized in
            BN_bn2binpad(ECDSA_SIG_get0_r(signature), buffer.baseAddress, Int32(numberCount))
            BN_bn2binpad(ECDSA_SIG_get0_s(signature), buffer.baseAddress! + numberCount, Int32(numberCount))
            initialized = rawCount
        }
    }

    private static func appendInteger(_ number: Span<UInt8>, to der: inout [UInt8]) {
        var start = 0
        while start < number.count - 1, number[start] == 0 { start += 1 }
        // DER numbers are signed: a leading bit that is set needs a zero byte before it.
        let padding = number[start] >= 0x80 ? 1 : 0
        der.append(0x02)
        der.append(UInt8(number.count - start + padding))
        if padding == 1 { der.append(0) }
        for index in start..<number.count { der.append(number[index]) }
    }
}
