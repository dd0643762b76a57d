import TLS

/// A certificate and its key: two files that belong together, and must to whoever reads them at any moment.
///
/// They cannot be replaced at once. So the new key is put behind the old one first, then the certificate is replaced,
/// then the old key goes: whichever certificate is there, its key is there. A crash in between leaves a key too many
/// (docs/decisions/0021-certificates-over-the-years.md).
struct CertificatePair: Equatable {
    let certificatePath: String
    let keyPath: String

    /// Puts a new certificate, with what may follow it in the file, and its key in the place of the old ones.
    func replace(certificatePEM: [UInt8], keyPEM: [UInt8]) throws(CommandError) {
        let old = Files.exists(keyPath) ? try Files.read(keyPath) : []
        try Files.replace(keyPath, old + keyPEM, mode: 0o600)
        try Files.replace(certificatePath, certificatePEM, mode: 0o600)
        try Files.replace(keyPath, keyPEM, mode: 0o600)
    }

    /// The certificate's file and the one key in the other that is its own.
    func read() throws(CommandError) -> (certificatePEM: [UInt8], keyPEM: [UInt8]) {
        if let pair = try readOnce() { return pair }
        // Both may have been replaced between the two reads.
        if let pair = try readOnce() { return pair }
        throw .failed(code: "bad_key", message: "\(keyPath) is not the key of the certificate in \(certificatePath)")
    }

    private func readOnce() throws(CommandError) -> (certificatePEM: [UInt8], keyPEM: [UInt8])? {
        let certificate = try Files.read(certificatePath)
        let wanted = try StartFiles.certificate(certificate, at: certificatePath).publicKey.spki
        let text = try Files.read(keyPath)
        let keys: [PrivateKey]
        do throws(TLSError) {
            keys = try PrivateKey.all(pem: text)
        } catch {
            throw .failed(code: "bad_key", message: "\(keyPath) holds no private key: \(error)")
        }
        return keys.first { $0.publicKey.spki == wanted }.map { (certificate, $0.pem) }
    }
}

extension Instance {
    /// The server's certificate and key.
    var serverPair: CertificatePair { CertificatePair(certificatePath: certificatePath, keyPath: keyPath) }
    /// The authority's certificates, the one that signs first, and its key.
    var authorityPair: CertificatePair { CertificatePair(certificatePath: authorityPath, keyPath: authorityKeyPath) }

    /// The authority as its predecessor has signed it, there while one replaces the other: beside the authority's
    /// certificate, with `-cross.pem` for its ending.
    var crossPath: String {
        let path = authorityPath
        return (path.hasSuffix(".pem") ? String(path.dropLast(4)) : path) + "-cross.pem"
    }

    /// The authority, ready to sign.
    func authority() throws(CommandError) -> CertificateAuthority {
        let pair = try authorityPair.read()
        do throws(TLSError) {
            return try CertificateAuthority(certificatePEM: pair.certificatePEM, keyPEM: pair.keyPEM)
        } catch {
            throw .failed(code: "certificate", message: "\(authorityPath) and its key cannot be used: \(error)")
        }
    }

    /// Every authority whose devices are let in, the one that signs first.
    func authorities() throws(CommandError) -> [Certificate] {
        let text = try Files.read(authorityPath)
        do throws(TLSError) {
            return try Certificate.all(pem: text)
        } catch {
            throw .failed(code: "certificate", message: "\(authorityPath) holds no certificate: \(error)")
        }
    }
}
