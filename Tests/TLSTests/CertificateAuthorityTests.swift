import Testing

@testable import TLS

@Suite struct CertificateAuthorityTests {
    let instance: Instance

    init() throws { instance = try Instance.shared.get() }

    @Test func `a request becomes a device's certificate for its key`() throws {
        for key in [try PrivateKey.p256(), try PrivateKey.rsa(bits: 2_048)] {
            let request = try CertificateRequest(pem: makeCertificateRequest(key: key, name: "what the device says"))
            try request.verify()
            let pem = try instance.authority.issueDevice(publicKey: request.publicKey, name: "phone", days: 2)
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
        #expect(throws: TLSError.self) { try CertificateRequest(pem: altered).verify() }
        #expect(throws: TLSError.self) { _ = try CertificateRequest(pem: instance.serverPEM) }
        #expect(throws: TLSError.self) { _ = try CertificateRequest(pem: []) }
    }

    @Test func `a key that devices cannot use is refused`() throws {
        let p384 = try PublicKey(pem: Array(Self.p384.utf8))
        #expect(p384.kind == .other && !p384.kind.isFitForDevice())
        #expect(!PublicKey.Kind.rsa(bits: 1_024).isFitForDevice(minimumRSABits: 2_048))
        #expect(!PublicKey.Kind.rsa(bits: 8_192).isFitForDevice(minimumRSABits: 2_048))
        #expect(PublicKey.Kind.rsa(bits: 8_192).isFitForDevice(minimumRSABits: 8_192))
        #expect(throws: TLSError.self) {
            try instance.authority.issueDevice(publicKey: p384, name: "phone", days: 1)
        }
    }

    @Test func `nothing is good for longer than what signed it`() throws {
        let key = try PrivateKey.p256()
        let end = instance.authority.certificate.notAfter
        let device = try instance.authority.issueDevice(publicKey: key.publicKey, name: "phone", days: 4_000)
        #expect(try Certificate(pem: device).notAfter == end)
        let server = try instance.authority.issueServer(names: ["localhost"], days: 4_000)
        #expect(try Certificate(pem: server.certificatePEM).notAfter == end)
        let successor = try instance.authority.makeSuccessor(days: 4_000)
        #expect(try Certificate(pem: successor.crossPEM).notAfter == end)
        #expect(try Certificate(pem: successor.certificatePEM).notAfter > end)
    }

    @Test(arguments: ["old", "new"])
    func `who trusts the old authority or the new believes a server of the new`(_ trusted: String) throws {
        let next = try instance.authority.makeSuccessor(days: 10)
        let authority = try CertificateAuthority(certificatePEM: next.certificatePEM, keyPEM: next.keyPEM)
        let server = try authority.issueServer(names: ["push.example.com"], days: 5)
        let context = try TLSContext.server(
            certificateChainPEM: server.certificatePEM + next.crossPEM,
            keyPEM: server.keyPEM,
            options: TLSServerOptions()
        )
        let caPEM = trusted == "old" ? instance.caPEM : next.certificatePEM
        let peers = try Peers(instance, server: context, client: try TLSContext.client(caPEM: caPEM, alpn: []))
        #expect(throws: Never.self) { try peers.handshake() }
        #expect(peers.client.isEstablished)
    }

    @Test func `without the old authority's word for the new its clients do not believe`() throws {
        let next = try instance.authority.makeSuccessor(days: 10)
        let authority = try CertificateAuthority(certificatePEM: next.certificatePEM, keyPEM: next.keyPEM)
        let server = try authority.issueServer(names: ["push.example.com"], days: 5)
        let context = try TLSContext.server(
            certificateChainPEM: server.certificatePEM,
            keyPEM: server.keyPEM,
            options: TLSServerOptions()
        )
        let peers = try Peers(instance, server: context)
        #expect(throws: TLSError.self) { try peers.handshake() }
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
