import Testing

@testable import TLS

@Suite struct PublicKeyTests {
    let message = Array("header.payload".utf8)

    @Test func `an ES256 signature verifies raw and in DER`() throws {
        let key = try PrivateKey.p256()
        let raw = try key.signES256(message)
        let der = try key.signECDSASHA256DER(message.span)
        #expect(raw.count == 64)
        #expect(key.publicKey.verifyES256(message, signature: raw))
        #expect(key.publicKey.verifyES256(message, signature: der))
        #expect(key.publicKey.verifyECDSASHA256DER(message, signature: der))
        #expect(!key.publicKey.verifyECDSASHA256DER(message, signature: raw))
        #expect(!key.publicKey.verifyES256(Array("header.other".utf8), signature: raw))
        #expect(!(try PrivateKey.p256()).publicKey.verifyES256(message, signature: raw))
    }

    @Test func `numbers with leading zeros and leading ones verify`() throws {
        let key = try PrivateKey.p256()
        var (zero, one) = (false, false)
        // Each signature has one with odds of 1 in 128 or better.
        for _ in 0..<20_000 where !zero || !one {
            let raw = try key.signES256(message)
            zero = zero || raw[0] == 0 || raw[32] == 0
            one = one || raw[0] >= 0x80 || raw[32] >= 0x80
            #expect(key.publicKey.verifyES256(message, signature: raw))
        }
        #expect(zero && one)
    }

    @Test func `a signature's DER is minimal`() {
        let small = [UInt8](repeating: 0, count: 31) + [5] + [UInt8](repeating: 0, count: 31) + [0x80]
        #expect(ECDSASignature.der(raw: small.span) == [0x30, 7, 2, 1, 5, 2, 2, 0, 0x80])
        let zeros = [UInt8](repeating: 0, count: 64)
        #expect(ECDSASignature.der(raw: zeros.span) == [0x30, 6, 2, 1, 0, 2, 1, 0])
        let ones = [UInt8](repeating: 0xff, count: 64)
        #expect(ECDSASignature.der(raw: ones.span).count == 72)
    }

    @Test func `a signature of another length, or altered, does not verify`() throws {
        let key = try PrivateKey.p256()
        let raw = try key.signES256(message)
        for count in [0, 1, 63] {
            #expect(!key.publicKey.verifyES256(message, signature: Array(raw[..<count])))
        }
        #expect(!key.publicKey.verifyES256(message, signature: (raw + [0])))
        #expect(!key.publicKey.verifyES256(message, signature: [UInt8](repeating: 0, count: 64)))
        let der = try key.signECDSASHA256DER(message.span)
        #expect(!key.publicKey.verifyES256(message, signature: (der + [0])))
        for index in raw.indices {
            var altered = raw
            altered[index] ^= 1
            #expect(!key.publicKey.verifyES256(message, signature: altered))
        }
    }

    @Test(arguments: [1_024, 2_048])
    func `an RSA key signs with SHA-1`(_ bits: Int) throws {
        let key = try PrivateKey.rsa(bits: bits)
        let signature = try key.signRSASHA1(message)
        #expect(key.publicKey.kind == .rsa(bits: bits))
        #expect(signature.count == bits / 8)
        #expect(key.publicKey.verifyRSASHA1(message, signature: signature))
        #expect(!key.publicKey.verifyRSASHA1([], signature: signature))
        #expect(!key.publicKey.verifyRSASHA1(message, signature: Array(signature.dropFirst())))
        #expect((try PublicKey(spki: key.publicKey.spki)).kind == .rsa(bits: bits))
        #expect((try PrivateKey(pem: key.pem)).pem == key.pem)
    }

    @Test func `a key never verifies the other kind's signature`() throws {
        let (elliptic, rsa) = (try PrivateKey.p256(), try PrivateKey.rsa(bits: 2_048))
        let (fromElliptic, fromRSA) = (try elliptic.signES256([]), try rsa.signRSASHA1([]))
        #expect(elliptic.publicKey.verifyES256([], signature: fromElliptic))
        #expect(!elliptic.publicKey.verifyRSASHA1([], signature: fromRSA))
        #expect(!rsa.publicKey.verifyES256([], signature: fromElliptic))
        #expect(!rsa.publicKey.verifyECDSASHA256DER([], signature: fromRSA))
        #expect(throws: TLSError.self) { try elliptic.signRSASHA1([]) }
        #expect(throws: TLSError.self) { try rsa.signES256([]) }
    }

    @Test func `keys survive PEM and DER`() throws {
        let key = try PrivateKey.p256()
        let again = try PrivateKey(pem: key.pem)
        #expect(String(decoding: key.pem, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(again.publicKey.spki == key.publicKey.spki)
        #expect(try PublicKey(pem: key.publicKey.pem).spki == key.publicKey.spki)
        let parsed = try PublicKey(spki: key.publicKey.spki)
        #expect(parsed.kind == .p256)
        #expect(parsed.verifyES256(message, signature: try again.signES256(message)))
    }

    @Test func `what is not a key is refused`() throws {
        let key = try PrivateKey.p256()
        let spki = key.publicKey.spki
        for count in 0..<spki.count {
            #expect(throws: TLSError.self) { try PublicKey(spki: Array(spki[..<count])) }
        }
        #expect(throws: TLSError.self) { try PublicKey(spki: spki + [0]) }
        #expect(throws: TLSError.self) { try PublicKey(pem: key.pem) }
        #expect(throws: TLSError.self) { try PrivateKey(pem: key.publicKey.pem) }
        #expect(throws: TLSError.self) { try PrivateKey(pem: []) }
        #expect(throws: TLSError.self) { try PrivateKey.rsa(bits: 10) }
        var offTheCurve = spki
        offTheCurve[offTheCurve.count - 1] ^= 1
        #expect(throws: TLSError.self) { try PublicKey(spki: offTheCurve) }
    }

    @Test func `a key with a pass phrase is refused without asking for it`() {
        // openssl genpkey -algorithm ed25519 -aes128 -pass pass:secret: the body does not matter, it cannot be opened.
        let pem = """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg5bCkYpwwzpAICCAAw
            -----END ENCRYPTED PRIVATE KEY-----
            """
        #expect(throws: TLSError.self) { try PrivateKey(pem: Array(pem.utf8)) }
    }
}
