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

    /// Makes the authority that is to follow this one, and a certificate for its key that this one has signed: a server
    /// sends that along, so that whoever knows only this authority still believes it.
    ///
    /// Both have one name. An authority of ours from before could not sign one that signs again (path length 0), but
    /// for itself under another key, which this then is (RFC 5280, 6.1: self-issued).
    package func makeSuccessor(
        days: Int
    ) throws(TLSError) -> (certificatePEM: [UInt8], keyPEM: [UInt8], crossPEM: [UInt8]) {
        let key = try PrivateKey.p256()
        let own = try CertificateDraft(publicKey: key.publicKey, subject: [], days: days)
        try own.takeSubject(of: certificate)
        try own.allowSigning()
        let cross = try CertificateDraft(publicKey: key.publicKey, subject: [], days: days)
        try cross.takeSubject(of: certificate)
        try cross.allowSigning(below: certificate)
        return (try own.signed(by: key).pem, key.pem, try cross.signed(by: self.key, issuer: certificate).pem)
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
    /// Whether the key is good enough is for the caller to say; here it only must be of a kind that devices sign with.
    package func issueDevice(publicKey: PublicKey, name: String, days: Int) throws(TLSError) -> [UInt8] {
        guard publicKey.kind != .other else { throw .credentials("a device's key is P-256 or RSA") }
        let subject: [NameEntry] = [.common(name), .unit("Device")]
        let draft = try CertificateDraft(publicKey: publicKey, subject: subject, days: days)
        try draft.restrict(to: X509.devicePurpose, issuer: certificate)
        return try draft.signed(by: key, issuer: certificate).pem
    }
}
