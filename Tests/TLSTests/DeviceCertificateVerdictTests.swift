import Testing

@testable import TLS

@Suite struct DeviceCertificateVerdictTests {
    let instance: Instance

    init() throws { instance = try Instance.shared.get() }

    @Test func `an enrolled device is accepted, with its key and digest`() throws {
        for key in [try PrivateKey.p256(), try PrivateKey.rsa(bits: 2_048)] {
            let certificate = try device(key.publicKey)
            let verdict = judge(certificate.der)
            #expect(verdict.result == .accepted)
            let place = try #require(verdict.key).place
            // The key is the end of its SubjectPublicKeyInfo.
            #expect(key.publicKey.spki.suffix(place.count).elementsEqual(certificate.der[place]))
            #expect(verdict.spkiDigest == Digest.sha256(key.publicKey.spki))
            #expect(verdict.notBefore == certificate.notBefore && verdict.notAfter == certificate.notAfter)
        }
    }

    @Test func `an expired certificate is accepted here and shows its date`() throws {
        let certificate = try device(try PrivateKey.p256().publicKey, days: -1)
        let verdict = judge(certificate.der)
        #expect(verdict.result == .accepted)
        #expect(verdict.notAfter < certificate.notBefore)
    }

    @Test func `certificates of other doors have the wrong purpose`() throws {
        #expect(judge(try Certificate(pem: instance.serverPEM).der).result == .wrongPurpose)
        #expect(judge(instance.authority.certificate.der).result == .wrongPurpose)
        for usage in ["clientAuth", "serverAuth,clientAuth", "\(X509.devicePurpose),clientAuth", "codeSigning"] {
            let verdict = judge(try issue(usage).der)
            #expect(verdict.result == .wrongPurpose)
            #expect(verdict.key == nil && verdict.spkiDigest.isEmpty)
        }
    }

    @Test func `another authority's device is foreign, even if that has our name`() throws {
        let foreign = try Instance()
        let key = try PrivateKey.p256().publicKey
        let pem = try foreign.authority.issueDevice(publicKey: key, name: "phone", days: 1)
        #expect(judge(try Certificate(pem: pem).der).result == .foreign)
        #expect(judge(foreign.authority.certificate.der).result == .foreign)
    }

    @Test func `a certificate that a device signed is foreign`() throws {
        let key = try PrivateKey.p256()
        let own = try CertificateDraft(publicKey: key.publicKey, subject: [.common("phone")], days: 1)
        try own.restrict(to: X509.devicePurpose, issuer: try device(key.publicKey))
        #expect(judge(try own.signed(by: key).der).result == .foreign)
        // In our authority's name, but without its key.
        #expect(judge(try issue(X509.devicePurpose).der).result == .accepted)
        #expect(judge(try issue(X509.devicePurpose, signer: key).der).result == .foreign)
        // By a true device in its own name.
        let parent = try device(key.publicKey)
        let child = try CertificateDraft(publicKey: key.publicKey, subject: [.common("child")], days: 1)
        try child.restrict(to: X509.devicePurpose, issuer: parent)
        #expect(judge(try child.signed(by: key, issuer: parent).der).result == .foreign)
    }

    @Test func `an altered certificate is foreign or malformed`() throws {
        let der = try device(try PrivateKey.p256().publicKey).der
        for index in der.indices {
            var altered = der
            altered[index] ^= 0x10
            #expect([.foreign, .malformed].contains(judge(altered).result), "byte \(index)")
        }
        #expect(judge([]).result == .malformed)
        #expect(judge(der + [0]).result == .malformed)
    }

    @Test func `a key below the limit is weak, at the limit good`() throws {
        let small = try device(try PrivateKey.rsa(bits: 1_024).publicKey).der
        #expect(judge(small).result == .weakKey)
        #expect(judge(small, minimumRSABits: 1_024).result == .accepted)
        let large = try device(try PrivateKey.rsa(bits: 2_048).publicKey).der
        #expect(judge(large, minimumRSABits: 3_072).result == .weakKey)
    }

    private func judge(_ der: [UInt8], minimumRSABits: Int = 2_048) -> DeviceCertificateVerdict {
        let authority = instance.authority.certificate
        return verifyDeviceCertificate(der: der.span, authorities: [authority], minimumRSABits: minimumRSABits)
    }

    private func device(_ key: PublicKey, days: Int = 1) throws(TLSError) -> Certificate {
        try Certificate(pem: try instance.authority.issueDevice(publicKey: key, name: "phone", days: days))
    }

    /// Any usage, in our authority's name.
    private func issue(_ usage: String, signer: PrivateKey? = nil) throws(TLSError) -> Certificate {
        let authority = instance.authority
        let key = try PrivateKey.p256().publicKey
        let draft = try CertificateDraft(publicKey: key, subject: [.common("any")], days: 1)
        try draft.restrict(to: usage, issuer: authority.certificate)
        return try draft.signed(by: signer ?? authority.key, issuer: authority.certificate)
    }
}
