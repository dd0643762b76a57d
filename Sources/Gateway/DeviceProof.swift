import PushCore
import TLS
import Wire

/// Judges the Connect of a device for one loop: its certificate, its nonce, its signature.
struct DeviceProof {
    /// Who the device has proved to be.
    struct Proven {
        let device: DeviceID
        let nonce: ConnectNonce
    }

    /// Why it has not; the cause is counted.
    struct Failure: Error {
        let cause: Metrics.Handshake
    }

    /// What is remembered of a certificate that was accepted: 64 bytes with its fingerprint, as there is one for each
    /// session. What was refused is not remembered, because anyone can make more of it.
    private struct Accepted {
        let device: DeviceID
        let notBefore: Int64
        let notAfter: Int64
        let key: DeviceKey
    }

    private var known: [Fingerprint: Accepted] = [:]
    private let signatures = DeviceSignatures()
    private let authorities: [Certificate]
    private let config: Config

    init(authorities: [Certificate], config: Config) {
        self.authorities = authorities
        self.config = config
    }

    mutating func prove(_ connect: Connect, over tls: TLSSession, at now: Moment) throws(Failure) -> Proven {
        guard let certificate = connect.certificate, let bytes = connect.nonce, let signature = connect.signature,
            let nonce = ConnectNonce(bytes)
        else { throw Failure(cause: .malformed) }
        let accepted = try judge(certificate)
        guard accepted.notBefore <= now.seconds, now.seconds < accepted.notAfter else {
            throw Failure(cause: .certificateExpired)
        }
        try checkAge(of: nonce, at: now)
        guard let message = signedMessage(bytes, over: tls),
            isSigned(message, signature, by: certificate.span.extracting(accepted.key.place), accepted.key.kind)
        else { throw Failure(cause: .badSignature) }
        return Proven(device: accepted.device, nonce: nonce)
    }

    private mutating func judge(_ certificate: [UInt8]) throws(Failure) -> Accepted {
        let fingerprint = Fingerprint(of: certificate.span)
        if let accepted = known[fingerprint] { return accepted }
        let verdict = verifyDeviceCertificate(
            der: certificate.span,
            authorities: authorities,
            minimumRSABits: config.deviceMinimumRSABits
        )
        guard verdict.result == .accepted, let key = verdict.key else { throw Failure(cause: cause(of: verdict)) }
        let accepted = Accepted(
            device: DeviceID(keyDigest: verdict.spkiDigest),
            notBefore: verdict.notBefore,
            notAfter: verdict.notAfter,
            key: key
        )
        if known.count >= Limits.rememberedCertificates { known.removeAll() }
        known[fingerprint] = accepted
        return accepted
    }

    private func cause(of verdict: DeviceCertificateVerdict) -> Metrics.Handshake {
        switch verdict.result {
        case .wrongPurpose: .wrongPurpose
        case .foreign: .foreignCertificate
        case .malformed, .weakKey, .accepted: .malformed
        }
    }

    private func checkAge(of nonce: ConnectNonce, at now: Moment) throws(Failure) {
        let age = now - nonce.made
        guard age <= Limits.nonceTolerance, age >= Interval.zero - Limits.nonceTolerance else {
            throw Failure(cause: .staleNonce)
        }
    }

    private func isSigned(
        _ message: [UInt8],
        _ signature: [UInt8],
        by key: Span<UInt8>,
        _ kind: DeviceKey.Kind
    ) -> Bool {
        guard signature.count > 2 else { return false }
        let value = signature.span.extracting(2..<signature.count)
        switch (signature[0], signature[1], kind) {
        case (0x01, 0x01, .rsa):
            return config.deviceRSA && signatures.verifyRSASHA1(message.span, signature: value, key: key)
        case (0xc0, 0x02, .p256):
            return signatures.verifyECDSASHA256(message.span, signature: value, point: key)
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
