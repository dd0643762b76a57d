import Testing

@testable import TLS

@Suite struct CertificateAuthorityTests {
    let instance: Instance

    init() throws { instance = try Instance.shared.get() }

    @Test func `a request becomes a device's certificate for its key`() throws {
        for key in [try PrivateKey.p256(), try PrivateKey.rsa(bits: 2_048)] {
            let request = try makeCertificateRequest(key: key, name: "what the device says")
            let pem = try instance.authority.sign(csrPEM: request, name: "phone", days: 30)
            let certificate = try Certificate(pem: pem)
            #expect(certificate.subject == "OU=Device,CN=phone")
            #expect(certificate.purpose == .device)
            #expect(certificate.publicKey.spki == key.publicKey.spki)
            #expect(certificate.isIssued(by: instance.authority.certificate))
        }
    }

    @Test func `a request whose signature does not fit is refused`() throws {
        let key = try PrivateKey.p256()
        let request = String(decoding: try makeCertificateRequest(key: key, name: "phone"), as: UTF8.self)
        // The first letters of the last line of Base64 lie within the signature.
        var lines = request.split(separator: "\n").map(String.init)
        let last = lines.count - 2
        lines[last] = (lines[last].first == "A" ? "B" : "A") + lines[last].dropFirst()
        let altered = Array(lines.joined(separator: "\n").utf8)
        #expect(throws: TLSError.self) { try instance.authority.sign(csrPEM: altered, name: "phone", days: 1) }
        #expect(throws: TLSError.self) {
            try instance.authority.sign(csrPEM: instance.serverPEM, name: "phone", days: 1)
        }
        #expect(throws: TLSError.self) { try instance.authority.sign(csrPEM: [], name: "phone", days: 1) }
    }

    @Test func `a key that devices cannot use is refused`() throws {
        let small = try makeCertificateRequest(key: try PrivateKey.rsa(bits: 768), name: "phone")
        #expect(throws: TLSError.self) { try instance.authority.sign(csrPEM: small, name: "phone", days: 1) }
        let p384 = try PublicKey(pem: Array(Self.p384.utf8))
        #expect(p384.kind == .other)
        #expect(throws: TLSError.self) {
            try instance.authority.issueDevice(publicKey: p384, name: "phone", days: 1)
        }
    }

    @Test func `names that certificates cannot hold are refused`() throws {
        for names in [[], [""], ["a b"], ["a,DNS:b"], ["ex\u{e4}mple.com"], ["a\0b"]] {
            #expect(throws: TLSError.self) { try instance.authority.issueServer(names: names, days: 1) }
        }
        let key = try PrivateKey.p256()
        for name in ["", String(repeating: "x", count: 65)] {
            #expect(throws: TLSError.self) {
                try instance.authority.issueDevice(publicKey: key.publicKey, name: name, days: 1)
            }
        }
    }

    @Test func `serial numbers are random and of one length`() throws {
        let key = try PrivateKey.p256()
        let certificates = try (0..<8).map { _ in
            try Certificate(pem: try instance.authority.issueDevice(publicKey: key.publicKey, name: "x", days: 1))
        }
        #expect(Set(certificates.map(serial)).count == 8)
        #expect(certificates.allSatisfy { serial($0).count == 16 })
    }

    @Test func `an authority needs its own key and the right to sign`() throws {
        let foreign = try CertificateAuthority.make(name: "Test CA", days: 1)
        #expect(throws: TLSError.self) {
            try CertificateAuthority(certificatePEM: instance.caPEM, keyPEM: foreign.keyPEM)
        }
        #expect(throws: TLSError.self) {
            try CertificateAuthority(certificatePEM: instance.serverPEM, keyPEM: instance.serverKeyPEM)
        }
    }

    /// The serial number stands behind the version, [0] EXPLICIT 2, in each certificate with a two-byte length.
    private func serial(_ certificate: Certificate) -> [UInt8] {
        #expect(certificate.der[8..<14] == [0xa0, 3, 2, 1, 2, 2])
        return Array(certificate.der[15..<(15 + Int(certificate.der[14]))])
    }

    static let p384 = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE1GPf/QUPIAGHtUk3EkkTDasN1IlLLLOD
        VN8QhLxVpcHCwLKHuFNoYSbSsM3jfTjfJVZuMeUoj7ucCQkENht+W1jcHsGdyzS5
        TrxbF9jkeUkeKlDzZ085k6DxGqQdRDHv
        -----END PUBLIC KEY-----
        """
}
