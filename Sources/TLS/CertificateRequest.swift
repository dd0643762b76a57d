import COpenSSL

/// A request for a certificate, read and not yet believed. Only its key is of use; the names are the signer's word.
package struct CertificateRequest: ~Copyable {
    /// The key it asks a certificate for.
    package let publicKey: PublicKey
    private let raw: OpaquePointer

    /// Reads a request in PEM.
    package init(pem: [UInt8]) throws(TLSError) {
        let raw = try readPEM(pem) { PEM_read_bio_X509_REQ($0, nil, noPassphrase, nil) }
        do throws(TLSError) {
            publicKey = PublicKey(owning: try make(TLSError.credentials) { X509_REQ_get_pubkey(raw) })
        } catch {
            X509_REQ_free(raw)
            throw error
        }
        self.raw = raw
    }

    deinit { X509_REQ_free(raw) }

    /// Throws unless the asker holds the key. Judge the key first: a huge one makes its own signature dear to verify.
    package func verify() throws(TLSError) {
        try attempt(TLSError.credentials) { X509_REQ_verify(raw, publicKey.raw) }
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
