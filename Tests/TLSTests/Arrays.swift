import TLS

// `#expect` cannot take a call apart that borrows a span, so the tests pass arrays.

extension PublicKey {
    func verifyES256(_ message: [UInt8], signature: [UInt8]) -> Bool {
        verifyES256(message.span, signature: signature.span)
    }

    func verifyECDSASHA256DER(_ message: [UInt8], signature: [UInt8]) -> Bool {
        verifyECDSASHA256DER(message.span, signature: signature.span)
    }

    func verifyRSASHA1(_ message: [UInt8], signature: [UInt8]) -> Bool {
        verifyRSASHA1(message.span, signature: signature.span)
    }
}

extension PrivateKey {
    func signES256(_ message: [UInt8]) throws(TLSError) -> [UInt8] { try signES256(message.span) }
    func signRSASHA1(_ message: [UInt8]) throws(TLSError) -> [UInt8] { try signRSASHA1(message.span) }
}

extension TLSSession {
    func receive(_ ciphertext: [UInt8]) throws(TLSError) -> Int { try receive(ciphertext.span) }
    func send(_ plaintext: [UInt8]) throws(TLSError) { try send(plaintext.span) }
}

extension DetachedSession {
    func receive(_ ciphertext: [UInt8]) throws(TLSError) -> Int { try receive(ciphertext.span) }
    func send(_ plaintext: [UInt8]) throws(TLSError) { try send(plaintext.span) }
}

extension Digest {
    static func sha1(_ message: [UInt8]) -> [UInt8] { sha1(message.span) }
    static func sha256(_ message: [UInt8]) -> [UInt8] { sha256(message.span) }
}
