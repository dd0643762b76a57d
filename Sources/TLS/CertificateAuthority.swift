import COpenSSL

/// The instance's private authority: it makes the server's certificate and those of the devices.
package struct CertificateAuthority: Sendable {
    /// What the certificates it issues are verified with.
    package let certificate: Certificate
    let key: PrivateKey

    /// Makes a new authority. The key is the instance's most precious secret.
    package static func make(
        name: String,
        days: Int
    ) throws(TLSError) -> (certificatePEM: [UInt8], keyPEM: [UInt8]) {
        let key = try PrivateKey.p256()
        let draft = try CertificateDraft(publicKey: key.publicKey, subject: [.common(name)], days: days)
        try draft.allowSigning()
        return (try draft.signed(by: key).pem, key.pem)
    }

    /// Reads an authority; certificate and key must belong together, and the certificate must allow signing.
    package init(certificatePEM: [UInt8], keyPEM: [UInt8]) throws(TLSError) {
        let certificate = try Certificate(pem: certificatePEM)
        let key = try PrivateKey(pem: keyPEM)
        guard certificate.purpose == .authority else { throw .credentials("the certificate is not an authority's") }
        try attempt(TLSError.credentials) { X509_check_private_key(certificate.x509.raw, key.raw) }
        self.certificate = certificate
        self.key = key
    }

    /// Makes a server's certificate for DNS names and addresses, and a new P-256 key for it.
    package func issueServer(
        names: [String],
        days: Int
    ) throws(TLSError) -> (certificatePEM: [UInt8], keyPEM: [UInt8]) {
        guard !names.isEmpty else { throw .credentials("a server's certificate needs a name") }
        let key = try PrivateKey.p256()
        // Clients look at the hosts; the subject is for people.
        let subject: [NameEntry] = [.common("Carillon"), .unit("Server")]
        let draft = try CertificateDraft(publicKey: key.publicKey, subject: subject, days: days)
        try draft.restrict(to: "serverAuth", issuer: certificate)
        try draft.addHosts(names)
        return (try draft.signed(by: self.key, issuer: certificate).pem, key.pem)
    }

    /// Makes a device's certificate in PEM. It opens the device door only; TLS libraries refuse it for both ends.
    package func issueDevice(publicKey: PublicKey, name: String, days: Int) throws(TLSError) -> [UInt8] {
        guard publicKey.kind.isFitForDevice() else {
            throw .credentials("a device's key is P-256 or RSA with 1024 to 4096 bits")
        }
        let subject: [NameEntry] = [.common(name), .unit("Device")]
        let draft = try CertificateDraft(publicKey: publicKey, subject: subject, days: days)
        try draft.restrict(to: X509.devicePurpose, issuer: certificate)
        return try draft.signed(by: key, issuer: certificate).pem
    }

    /// Makes a device's certificate for a request in PEM, which must be signed with the key it is about.
    ///
    /// Only the key is taken from the request; `name` is the gateway's word.
    package func sign(csrPEM: [UInt8], name: String, days: Int) throws(TLSError) -> [UInt8] {
        let request = try readPEM(csrPEM) { PEM_read_bio_X509_REQ($0, nil, noPassphrase, nil) }
        defer { X509_REQ_free(request) }
        let key = PublicKey(owning: try TLS.make(TLSError.credentials) { X509_REQ_get_pubkey(request) })
        // Judged before it is used: a huge key makes its own signature dear to verify.
        guard key.kind.isFitForDevice() else {
            throw .credentials("a device's key is P-256 or RSA with 1024 to 4096 bits")
        }
        try attempt(TLSError.credentials) { X509_REQ_verify(request, key.raw) }
        return try issueDevice(publicKey: key, name: name, days: days)
    }
}

/// Makes a request for a certificate in PEM, signed with `key` to prove that it is the asker's.
package func makeCertificateRequest(key: PrivateKey, name: String) throws(TLSError) -> [UInt8] {
    let request = try make(TLSError.library) { X509_REQ_new() }
    defer { X509_REQ_free(request) }
    try attempt(TLSError.library) { X509_REQ_set_version(request, 0) }
    try fill(X509_REQ_get_subject_name(request), with: [.common(name)])
    try attempt(TLSError.library) { X509_REQ_set_pubkey(request, key.raw) }
    try attempt(TLSError.library) { X509_REQ_sign(request, key.raw, EVP_sha256()) }
    return writePEM { PEM_write_bio_X509_REQ($0, request) }
}
