import TLS

/// Certificates, keys and requests from strangers: what is read is written the same, and only one device gets in.
func fuzzCertificate(_ input: [UInt8]) {
    judge(input)
    readKeys(input)
    sign(input)
}

/// The certificate in the corpus is the only one that this authority ever signed for a device.
private func judge(_ input: [UInt8]) {
    let certificate = value { () throws(TLSError) in try Certificate(der: input) }
    if let certificate {
        precondition(certificate.der == input, "other bytes came out")
        let again = value { () throws(TLSError) in try Certificate(pem: certificate.pem) }
        precondition(again?.der == input, "its PEM is another certificate")
    }
    let verdict = verifyDeviceCertificate(der: input.span, authorities: [Fixed.authority], minimumRSABits: 2_048)
    precondition((verdict.result == .malformed) == (certificate == nil), "two opinions of one certificate")
    if verdict.result == .accepted {
        precondition(certificate?.publicKey.pem == Array(Fixed.deviceKeyPEM.utf8), "a stranger got in")
        let spki = certificate?.publicKey.spki ?? []
        let place = verdict.key?.place ?? 0..<0
        precondition(place.count == 65 && spki.suffix(65).elementsEqual(input[place]), "another key")
        precondition(Digest.sha256(spki.span) == verdict.spkiDigest, "another name")
    }
}

private func readKeys(_ input: [UInt8]) {
    if let key = value({ () throws(TLSError) in try PublicKey(spki: input) }) {
        let again = value { () throws(TLSError) in try PublicKey(spki: key.spki) }
        precondition(again?.kind == key.kind && again?.spki == key.spki, "its encoding is another key")
        precondition(!key.verifyES256(input.span, signature: input.span), "the input verifies itself")
    }
    if let key = value({ () throws(TLSError) in try PublicKey(pem: input) }) {
        precondition(value { () throws(TLSError) in try PublicKey(pem: key.pem) }?.pem == key.pem, "another key")
    }
    if let key = value({ () throws(TLSError) in try PrivateKey(pem: input) }) {
        precondition(value { () throws(TLSError) in try PrivateKey(pem: key.pem) }?.pem == key.pem, "another key")
    }
}

private func sign(_ input: [UInt8]) {
    guard let signer = Fixed.signer else { preconditionFailure("no authority") }
    let signed = value { () throws(TLSError) in
        let request = try CertificateRequest(pem: input)
        guard request.publicKey.kind.isFitForDevice() else { throw TLSError.credentials("no device's key") }
        try request.verify()
        return try signer.issueDevice(publicKey: request.publicKey, name: "fuzz", days: 1)
    }
    guard let signed else { return }
    let certificate = value { () throws(TLSError) in try Certificate(pem: signed) }
    precondition(certificate?.purpose == .device, "not a device's")
    precondition(certificate?.isIssued(by: signer.certificate) == true, "not issued by its authority")
}

/// The result, or nil for input that was refused, which is what most of it should be.
private func value<Value>(_ body: () throws(TLSError) -> Value) -> Value? {
    do {
        return try body()
    } catch {
        return nil
    }
}

private enum Fixed {
    /// Its key no longer exists.
    static let authorityPEM = """
        -----BEGIN CERTIFICATE-----
        MIIBiTCCAS+gAwIBAgIUT/z1ASvzQmW9iXVQ9nMASv8c2zQwCgYIKoZIzj0EAwIw
        ITEfMB0GA1UEAwwWQ2FyaWxsb24gdGhyb3ctYXdheSBDQTAeFw0yNjExMzAwMjU5
        MjdaFw0zNjExMjcwMjU5MjdaMCExHzAdBgNVBAMMFkNhcmlsbG9uIHRocm93LWF3
        YXkgQ0EwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARBht9ZY0QusnknIj+o2um1
        h8UmG+A9yDrIj96X1bnlTrK/qMeUdf/+SeXNnnkJDxd8gq2tAsdb/+Z2aRaJv2jo
        o0UwQzASBgNVHRMBAf8ECDAGAQH/AgEAMA4GA1UdDwEB/wQEAwIBBjAdBgNVHQ4E
        FgQUHgx1BSP7DDcB6tEJVd3pvasbPz4wCgYIKoZIzj0EAwIDSAAwRQIgHVnb8Y9G
        oUtJs+hLn92xN6k6rU/MzGJZJi4DM84SXRwCIQDH0Y6+co6t4yFoa0VEfyeyK1hL
        oRyOUPdhR7+/9sc9WQ==
        -----END CERTIFICATE-----
        """

    static let deviceKeyPEM = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEn4Xtmmb5CVYfPpS0Kzv8S3XSbXIl
        QqW5YcQLHRrTeqw6SLqP4WhtlQAjYN7vL1iA3wegS+34M+pHgyW3u4tSGQ==
        -----END PUBLIC KEY-----

        """

    static let authority: Certificate = {
        guard let certificate = value({ () throws(TLSError) in try Certificate(pem: Array(authorityPEM.utf8)) }) else {
            preconditionFailure("the authority cannot be read")
        }
        return certificate
    }()

    /// Signs requests. Made anew each time, because no key stands in a source; what happens does not depend on it.
    static let signer: CertificateAuthority? = value { () throws(TLSError) in
        let made = try CertificateAuthority.make(name: "fuzz", days: 1)
        return try CertificateAuthority(certificatePEM: made.certificatePEM, keyPEM: made.keyPEM)
    }
}
