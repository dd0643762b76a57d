import Testing

@testable import TLS

@Suite struct CertificateTests {
    let instance: Instance

    init() throws { instance = try Instance.shared.get() }

    @Test func `a server's certificate says its names, purpose and dates`() throws {
        let server = try Certificate(pem: instance.serverPEM)
        #expect(server.names == ["push.example.com", "127.0.0.1", "::1"])
        #expect(server.purpose == .server)
        #expect(server.subject == "OU=Server,CN=Carillon")
        #expect(server.notAfter - server.notBefore == 10 * 86_400 + 3_600)
        #expect(server.publicKey.kind == .p256)
    }

    @Test func `each certificate has one purpose`() throws {
        let ca = instance.authority.certificate
        #expect(ca.purpose == .authority)
        #expect(ca.subject == "CN=Test CA")
        #expect(ca.names.isEmpty)
        #expect(try issue("clientAuth").purpose == .provider)
        #expect(try issue("clientAuth,serverAuth").purpose == .server)
        #expect(try issue(X509.devicePurpose).purpose == .device)
        #expect(try issue("\(X509.devicePurpose),clientAuth").purpose == .provider)
        #expect(try issue("\(X509.devicePurpose),anyExtendedKeyUsage").purpose == .unknown)
        #expect(try issue("codeSigning").purpose == .unknown)
        let key = try PrivateKey.p256()
        let plain = try CertificateDraft(publicKey: key.publicKey, subject: [.common("plain")], days: 1)
        #expect(try plain.signed(by: key).purpose == .unknown)
    }

    @Test func `a certificate survives PEM and DER`() throws {
        let server = try Certificate(pem: instance.serverPEM)
        #expect(server.pem == instance.serverPEM)
        #expect(try Certificate(der: server.der).der == server.der)
        #expect(try Certificate(pem: instance.serverPEM + instance.caPEM).der == server.der)
    }

    @Test func `what is not a certificate is refused`() throws {
        let der = try Certificate(pem: instance.serverPEM).der
        for count in 0..<der.count {
            #expect(throws: TLSError.self) { try Certificate(der: Array(der[..<count])) }
        }
        #expect(throws: TLSError.self) { try Certificate(der: der + [0]) }
        #expect(throws: TLSError.self) { try Certificate(pem: instance.serverKeyPEM) }
        #expect(throws: TLSError.self) { try Certificate(pem: []) }
    }

    @Test func `an encoding that is not DER is refused`() throws {
        let der = try Certificate(pem: instance.serverPEM).der
        // The outer length in three bytes where two are enough, which BER allows.
        #expect(der[1] == 0x82)
        #expect(throws: TLSError.credentials("not DER")) { try Certificate(der: [0x30, 0x83, 0] + der[2...]) }
    }

    @Test func `a certificate is issued by its own authority only`() throws {
        let foreign = try Instance()
        let server = try Certificate(pem: instance.serverPEM)
        // The same name, another key.
        #expect(server.isIssued(by: instance.authority.certificate))
        #expect(!server.isIssued(by: foreign.authority.certificate))
        #expect(!server.isIssued(by: server))
        #expect(instance.authority.certificate.isIssued(by: instance.authority.certificate))
    }

    @Test func `a subject that could forge a log line is escaped`() throws {
        let pem = try instance.authority.issueDevice(
            publicKey: try PrivateKey.p256().publicKey,
            name: "Zoë,\nCN=admin",
            days: 1
        )
        #expect(try Certificate(pem: pem).subject == "OU=Device,CN=Zoë\\,\\0ACN=admin")
    }

    private func issue(_ usage: String) throws(TLSError) -> Certificate {
        let subject: [NameEntry] = [.common("any")]
        let key = try PrivateKey.p256()
        let draft = try CertificateDraft(publicKey: key.publicKey, subject: subject, days: 1)
        try draft.restrict(to: usage, issuer: instance.authority.certificate)
        return try draft.signed(by: key, issuer: instance.authority.certificate)
    }
}
