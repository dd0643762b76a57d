import TLS

// Making an instance's certificates. Each step leaves files that a gateway can start with and its clients believe.
extension Instance {
    /// What every server's certificate of ours is for.
    static let localNames = ["localhost", "127.0.0.1", "::1"]

    /// Whether the server's certificate came from this instance's authority, also from one that is being replaced. One
    /// that somebody else made must not be replaced by one that nobody else trusts.
    func isServerCertificateOurs() throws(CommandError) -> Bool {
        guard Files.exists(certificatePath) else { return true }
        let certificate = try StartFiles.certificate(Files.read(certificatePath), at: certificatePath)
        return try authorities().contains(where: certificate.isIssued)
    }

    /// Makes a certificate and key for the server; returns when it ends.
    func makeServerCertificate(names: [String]) throws(CommandError) -> Int64 {
        let authority = try authority()
        let (certificate, key, end) = try made { () throws(TLSError) in
            let made = try authority.issueServer(names: names, days: CertificateLife.server.days)
            return (made.certificatePEM, made.keyPEM, try Certificate(pem: made.certificatePEM).notAfter)
        }
        try serverPair.replace(certificatePEM: certificate + (crossCertificate(for: authority)), keyPEM: key)
        return end
    }

    /// Makes the authority that replaces the present one, which stays trusted; returns when the new one ends.
    func makeSuccessor() throws(CommandError) -> Int64 {
        let old = try authority()
        let (new, end) = try made { () throws(TLSError) in
            let new = try old.makeSuccessor(days: CertificateLife.authority.days)
            return (new, try Certificate(pem: new.certificatePEM).notAfter)
        }
        // First, because the old key is gone afterwards and nothing could sign it any more.
        try Files.replace(crossPath, new.crossPEM, mode: 0o600)
        let both = new.certificatePEM + old.certificate.pem
        try authorityPair.replace(certificatePEM: both, keyPEM: new.keyPEM)
        return end
    }

    /// Trusts no authority but `authority`.
    func retire(keeping authority: Certificate) throws(CommandError) {
        try Files.replace(authorityPath, authority.pem, mode: 0o600)
        if try isServerCertificateOurs(), Files.exists(certificatePath) {
            let server = try StartFiles.certificate(Files.read(certificatePath), at: certificatePath)
            try Files.replace(certificatePath, server.pem, mode: 0o600)
        }
        try Files.remove(crossPath)
    }

    /// What the server sends along while an old authority is still trusted: its word for the new one.
    private func crossCertificate(for authority: CertificateAuthority) throws(CommandError) -> [UInt8] {
        guard try authorities().count > 1, Files.exists(crossPath) else { return [] }
        let cross = try StartFiles.certificate(Files.read(crossPath), at: crossPath)
        return cross.publicKey.spki == authority.certificate.publicKey.spki ? cross.pem : []
    }

    private func made<Value>(_ make: () throws(TLSError) -> Value) throws(CommandError) -> Value {
        do throws(TLSError) {
            return try make()
        } catch {
            throw .failed(code: "certificate", message: "no certificate was made: \(error)")
        }
    }
}
