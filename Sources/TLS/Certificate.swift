import COpenSSL

/// A certificate, read once into values. It says nothing about trust: ask `isIssued(by:)`, and compare the dates.
package struct Certificate: Sendable {
    /// The one door a certificate opens.
    package enum Purpose: Sendable {
        /// Extended key usage serverAuth, whatever else is there: what a server shows must not open another door.
        case server
        /// Extended key usage clientAuth.
        case provider
        /// Our private purpose, and no TLS usage.
        case device
        case authority
        case unknown
    }

    /// The certificate as it was signed.
    package let der: [UInt8]
    /// First second of its validity, in Unix time.
    package let notBefore: Int64
    /// Last second of its validity, in Unix time.
    package let notAfter: Int64
    /// The key it is about.
    package let publicKey: PublicKey
    /// Its subject, as RFC 2253 writes names: `CN=phone`.
    package let subject: String
    /// The DNS names and addresses it is for.
    package let names: [String]
    /// The one door it opens.
    package let purpose: Purpose

    let x509: X509

    /// Reads the first certificate of a PEM text.
    package init(pem: [UInt8]) throws(TLSError) {
        try self.init(try readCertificates(pem)[0])
    }

    /// Reads every certificate of a PEM text, at least one.
    package static func all(pem: [UInt8]) throws(TLSError) -> [Certificate] {
        var certificates: [Certificate] = []
        for x509 in try readCertificates(pem) { certificates.append(try Certificate(x509)) }
        return certificates
    }

    /// Reads a certificate in DER, which must be all of `der`.
    package init(der: [UInt8]) throws(TLSError) {
        try self.init(try X509(der: der.span))
    }

    init(_ x509: X509) throws(TLSError) {
        self.x509 = x509
        der = x509.der
        notBefore = try unixTime(X509_get0_notBefore(x509.raw))
        notAfter = try unixTime(X509_get0_notAfter(x509.raw))
        publicKey = PublicKey(owning: try make(TLSError.credentials) { X509_get_pubkey(x509.raw) })
        subject = try text(of: X509_get_subject_name(x509.raw))
        names = x509.names
        purpose = x509.purpose
    }

    /// The certificate in PEM.
    package var pem: [UInt8] { writePEM { PEM_write_bio_X509($0, x509.raw) } }

    /// Whether `ca` has signed this certificate: names, key usage and signature. The dates are not looked at.
    package func isIssued(by ca: Certificate) -> Bool {
        ERR_clear_error()
        guard X509_check_issued(ca.x509.raw, x509.raw) == X509_V_OK else { return false }
        return X509_verify(x509.raw, ca.publicKey.raw) == 1
    }
}

extension X509 {
    /// The object identifier of the purpose "device of a Carillon gateway": a random UUID under the arc that is
    /// everybody's (X.667). It must never change, or no enrolled device gets in.
    static let devicePurpose = "2.25.257240225426115637098521358189127568828"

    fileprivate var purpose: Certificate.Purpose {
        // 1 is the only answer that says so in the certificate itself; the others are guesses for old ones.
        if X509_check_ca(raw) == 1 { return .authority }
        let usages = extendedKeyUsages
        if usages.contains("1.3.6.1.5.5.7.3.1") { return .server }
        if usages.contains("1.3.6.1.5.5.7.3.2") { return .provider }
        return usages == [Self.devicePurpose] ? .device : .unknown
    }

    private var extendedKeyUsages: [String] {
        ERR_clear_error()
        // Nothing comes back when the extension is absent, broken or there twice; all three open no door.
        guard let value = X509_get_ext_d2i(raw, NID_ext_key_usage, nil, nil) else { return [] }
        let usages = shim_EXTENDED_KEY_USAGE(value)
        defer { EXTENDED_KEY_USAGE_free(usages) }
        return (0..<shim_sk_ASN1_OBJECT_num(usages)).map { dottedText(of: shim_sk_ASN1_OBJECT_value(usages, $0)) }
    }

    fileprivate var names: [String] {
        ERR_clear_error()
        guard let value = X509_get_ext_d2i(raw, NID_subject_alt_name, nil, nil) else { return [] }
        let names = shim_GENERAL_NAMES(value)
        defer { GENERAL_NAMES_free(names) }
        return (0..<shim_sk_GENERAL_NAME_num(names)).compactMap { hostText(of: shim_sk_GENERAL_NAME_value(names, $0)) }
    }
}

func unixTime(_ time: UnsafePointer<ASN1_TIME>?) throws(TLSError) -> Int64 {
    let epoch = try make(TLSError.library) { ASN1_TIME_set(nil, 0) }
    defer { ASN1_STRING_free(epoch) }
    var days: Int32 = 0
    var seconds: Int32 = 0
    try attempt(TLSError.credentials) { ASN1_TIME_diff(&days, &seconds, epoch, time) }
    return Int64(days) * 86_400 + Int64(seconds)
}

private func text(of name: OpaquePointer?) throws(TLSError) -> String {
    let bio = try make(TLSError.library) { BIO_new(BIO_s_mem()) }
    defer { BIO_free(bio) }
    // Control characters and the like are escaped, so the text is fit for a log. 0 bytes is an empty name.
    guard X509_NAME_print_ex(bio, name, 0, shim_XN_FLAG_RFC2253 & ~UInt(ASN1_STRFLGS_ESC_MSB)) >= 0 else {
        throw .credentials(queuedReason())
    }
    return String(decoding: takeAll(from: bio), as: UTF8.self)
}

private func dottedText(of object: OpaquePointer?) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
        // Longer identifiers come out cut, and then equal none that we look for.
        OBJ_obj2txt(buffer.baseAddress, Int32(buffer.count), object, 1) > 0 ? String(cString: buffer.baseAddress!) : ""
    }
}

/// A DNS name or an address; other kinds of names are not for us.
private func hostText(of name: UnsafeMutablePointer<GENERAL_NAME>?) -> String? {
    var kind: Int32 = 0
    guard let value = GENERAL_NAME_get0_value(name, &kind) else { return nil }
    let string = value.assumingMemoryBound(to: ASN1_STRING.self)
    guard kind == GEN_DNS || kind == GEN_IPADD, let start = ASN1_STRING_get0_data(string) else { return nil }
    let bytes = UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(string)))
    return kind == GEN_DNS ? String(decoding: bytes, as: UTF8.self) : addressText(of: Array(bytes))
}
