import COpenSSL

/// A certificate that is being written: filled, then signed once.
struct CertificateDraft {
    private let x509: X509
    private var raw: OpaquePointer { x509.raw }

    /// About `publicKey`, named `subject`, and valid from an hour ago (clocks differ) until `days` from now.
    init(publicKey: PublicKey, subject: [NameEntry], days: Int) throws(TLSError) {
        guard let days = Int32(exactly: days) else { throw .credentials("\(days) days are too many") }
        x509 = X509(owning: try make(TLSError.library) { X509_new() })
        // Numbered from zero: 2 is version 3, the one with extensions.
        try attempt(TLSError.library) { X509_set_version(raw, 2) }
        try setSerial()
        try make(TLSError.library) { X509_gmtime_adj(X509_getm_notBefore(raw), -3_600) }
        try make(TLSError.credentials) { X509_time_adj_ex(X509_getm_notAfter(raw), days, 0, nil) }
        try attempt(TLSError.credentials) { X509_set_pubkey(raw, publicKey.raw) }
        try fill(X509_get_subject_name(raw), with: subject)
    }

    /// Takes the subject of another certificate, for one that follows it.
    func takeSubject(of other: Certificate) throws(TLSError) {
        try attempt(TLSError.library) { X509_set_subject_name(raw, X509_get_subject_name(other.x509.raw)) }
    }

    /// Lets the certificate sign others, and its successor.
    func allowSigning() throws(TLSError) {
        try add(NID_basic_constraints, "critical,CA:TRUE,pathlen:1")
        try add(NID_key_usage, "critical,keyCertSign,cRLSign")
        try add(NID_subject_key_identifier, "hash")
    }

    /// Lets the certificate sign others in a chain below `issuer`, but none that sign again.
    func allowSigning(below issuer: Certificate) throws(TLSError) {
        try add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0")
        try add(NID_key_usage, "critical,keyCertSign,cRLSign")
        try add(NID_subject_key_identifier, "hash")
        try add(NID_authority_key_identifier, "keyid:always", issuer: issuer.x509.raw)
        try endNoLater(than: issuer)
    }

    /// Restricts the certificate to one purpose, by extended key usages in OpenSSL's words or as dotted numbers.
    func restrict(to usage: String, issuer: Certificate) throws(TLSError) {
        try add(NID_basic_constraints, "critical,CA:FALSE")
        try add(NID_key_usage, "critical,digitalSignature")
        try add(NID_ext_key_usage, usage)
        try add(NID_subject_key_identifier, "hash")
        try add(NID_authority_key_identifier, "keyid:always", issuer: issuer.x509.raw)
        try endNoLater(than: issuer)
    }

    /// Nobody can verify a certificate after its issuer has ended, so it must not promise more.
    private func endNoLater(than issuer: Certificate) throws(TLSError) {
        guard try unixTime(X509_get0_notAfter(raw)) > issuer.notAfter else { return }
        try attempt(TLSError.library) { X509_set1_notAfter(raw, X509_get0_notAfter(issuer.x509.raw)) }
    }

    /// Adds the hosts the certificate is for: DNS names and addresses.
    func addHosts(_ hosts: [String]) throws(TLSError) {
        let names = try make(TLSError.library) { GENERAL_NAMES_new() }
        defer { GENERAL_NAMES_free(names) }
        for host in hosts {
            let name = try generalName(host)
            try attempt(TLSError.library) { shim_sk_GENERAL_NAME_push(names, name) }
        }
        try attempt(TLSError.credentials) {
            X509_add1_ext_i2d(raw, NID_subject_alt_name, UnsafeMutableRawPointer(names), 0, 0)
        }
    }

    /// Signs in the name of `issuer`, or of the certificate itself.
    func signed(by key: PrivateKey, issuer: Certificate? = nil) throws(TLSError) -> Certificate {
        let name = X509_get_subject_name(issuer?.x509.raw ?? raw)
        try attempt(TLSError.library) { X509_set_issuer_name(raw, name) }
        try attempt(TLSError.credentials) { X509_sign(raw, key.raw, EVP_sha256()) }
        // Read again from its bytes: what was only set is not all as OpenSSL would parse it.
        return try Certificate(der: x509.der)
    }

    private func setSerial() throws(TLSError) {
        var bytes = SecureRandom.bytes(16)
        // Positive, and as long for all: the first bit is the sign, the second may not be a leading zero.
        bytes[0] = bytes[0] & 0x7f | 0x40
        let number = try make(TLSError.library) { BN_bin2bn(bytes, Int32(bytes.count), nil) }
        defer { BN_free(number) }
        try make(TLSError.library) { BN_to_ASN1_INTEGER(number, X509_get_serialNumber(raw)) }
    }

    private func add(_ kind: Int32, _ value: String, issuer: OpaquePointer? = nil) throws(TLSError) {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer ?? raw, raw, nil, nil, 0)
        let item = try make(TLSError.credentials) { X509V3_EXT_conf_nid(nil, &context, kind, value) }
        defer { X509_EXTENSION_free(item) }
        try attempt(TLSError.library) { X509_add_ext(raw, item, -1) }
    }
}

/// One part of a certificate's or request's subject.
struct NameEntry {
    let field: String
    let value: String

    static func common(_ value: String) -> NameEntry { NameEntry(field: "CN", value: value) }
    static func unit(_ value: String) -> NameEntry { NameEntry(field: "OU", value: value) }
}

/// Appends `entries` to a subject. X.520 allows 64 characters each.
func fill(_ name: OpaquePointer?, with entries: [NameEntry]) throws(TLSError) {
    for entry in entries {
        let value = Array(entry.value.utf8)
        try attempt(TLSError.credentials) {
            X509_NAME_add_entry_by_txt(name, entry.field, MBSTRING_UTF8, value, Int32(value.count), -1, 0)
        }
    }
}

/// A host as certificates write it. The caller owns it.
private func generalName(_ host: String) throws(TLSError) -> UnsafeMutablePointer<GENERAL_NAME> {
    let name = try make(TLSError.library) { GENERAL_NAME_new() }
    if let address = a2i_IPADDRESS(host) {
        GENERAL_NAME_set0_value(name, GEN_IPADD, address)
        return name
    }
    let isName = host.utf8.allSatisfy { byte in
        switch UInt8(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "*"): true
        default: false
        }
    }
    guard isName, !host.isEmpty, host.utf8.count <= 253, let text = ASN1_STRING_type_new(V_ASN1_IA5STRING) else {
        GENERAL_NAME_free(name)
        throw .credentials("'\(host)' is neither a host name nor an address")
    }
    ASN1_STRING_set(text, host, Int32(host.utf8.count))
    GENERAL_NAME_set0_value(name, GEN_DNS, text)
    return name
}
