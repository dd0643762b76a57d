import PushCore
import TLS
import Wire

/// Judges the Connect of a device for one loop: its certificate, its nonce, its signature.
struct DeviceProof {
    /// Who the device has proved to be.
    struct Proven {
        let device: DeviceID
        let nonce: [UInt8]
    }

    /// Why it has not; the cause is counted.
    struct Failure: Error {
        let cause: Metrics.Handshake
    }

    private var verdicts: [[UInt8]: DeviceCertificateVerdict] = [:]
    private let authority: Certificate
    private let config: Config

    init(authority: Certificate, config: Config) {
        self.authority = authority
        self.config = config
    }

    mutating func prove(_ connect: Connect, over tls: TLSSession, at now: Moment) throws(Failure) -> Proven {
        guard let certificate = connect.certificate, let nonce = connect.nonce, let signature = connect.signature else {
            throw Failure(cause: .malformed)
        }
        let verdict = verdict(on: certificate)
        guard let key = verdict.publicKey else { throw Failure(cause: cause(of: verdict)) }
        guard verdict.result == .accepted else { throw Failure(cause: cause(of: verdict)) }
        guard verdict.notBefore <= now.seconds, now.seconds < verdict.notAfter else {
            throw Failure(cause: .certificateExpired)
        }
        try checkAge(of: nonce, at: now)
        guard isSigned(nonce, by: key, signature, over: tls) else { throw Failure(cause: .badSignature) }
        return Proven(device: deviceID(spkiDigest: verdict.spkiDigest), nonce: nonce)
    }

    private mutating func verdict(on certificate: [UInt8]) -> DeviceCertificateVerdict {
        let digest = Digest.sha256(certificate.span)
        if let known = verdicts[digest] { return known }
        let verdict = verifyDeviceCertificate(
            der: certificate.span,
            authority: authority,
            minimumRSABits: config.deviceMinimumRSABits
        )
        if verdicts.count >= Limits.rememberedVerdicts { verdicts.removeAll() }
        verdicts[digest] = verdict
        return verdict
    }

    private func cause(of verdict: DeviceCertificateVerdict) -> Metrics.Handshake {
        switch verdict.result {
        case .wrongPurpose: .wrongPurpose
        case .foreign: .foreignCertificate
        case .malformed, .weakKey, .accepted: .malformed
        }
    }

    /// Seventeen bytes: a tag of 0, Unix milliseconds, eight random bytes (docs/device-protocol.md).
    private func checkAge(of nonce: [UInt8], at now: Moment) throws(Failure) {
        guard nonce.count == 17, nonce[0] == 0 else { throw Failure(cause: .malformed) }
        let milliseconds = nonce[1...8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard milliseconds < UInt64(Int64.max / 1_000_000) else { throw Failure(cause: .staleNonce) }
        let age = now - Moment(milliseconds: Int64(milliseconds))
        guard age <= Limits.nonceTolerance, age >= Interval.zero - Limits.nonceTolerance else {
            throw Failure(cause: .staleNonce)
        }
    }

    private func isSigned(_ nonce: [UInt8], by key: PublicKey, _ signature: [UInt8], over tls: TLSSession) -> Bool {
        guard signature.count > 2 else { return false }
        guard let message = signedMessage(nonce, over: tls) else { return false }
        let value = signature.span.extracting(2..<signature.count)
        switch (signature[0], signature[1], key.kind) {
        case (0x01, 0x01, .rsa): return config.deviceRSA && key.verifyRSASHA1(message.span, signature: value)
        case (0xc0, 0x02, .p256): return key.verifyECDSASHA256DER(message.span, signature: value)
        default: return false
        }
    }

    /// In the extended form the signature also covers the TLS session, so that a hostile server cannot use it again.
    private func signedMessage(_ nonce: [UInt8], over tls: TLSSession) -> [UInt8]? {
        guard tls.alpn == DeviceProtocol.extended else { return nonce }
        let (label, count) = (DeviceProtocol.exporterLabel, DeviceProtocol.exporterCount)
        // A session that cannot export cannot prove what the extended form asks for.
        guard let exported = try? tls.exporter(label: label, context: [], count: count) else { return nil }
        return Array(DeviceProtocol.signatureContext.utf8) + exported + nonce
    }
}

/// The device a public key belongs to.
func deviceID(spkiDigest: [UInt8]) -> DeviceID {
    DeviceID(spkiDigest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
}
