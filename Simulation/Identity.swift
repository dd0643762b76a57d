import Gateway
import PushCore
import TLS
import TestSupport

/// The keys and certificates of a simulated instance. They differ from run to run; nothing that is checked depends on
/// them but the devices' keys, which are always the same, for they say which loop is a device's home.
struct Identity {
    /// A device's key, what it is known by, and its certificate.
    struct DeviceCredentials {
        let id: DeviceID
        let key: PrivateKey
        let certificate: [UInt8]
    }

    static let team = "SIMULATION"
    static let keyID = "SIMULATED1"

    let files: InstanceFiles
    let providerKey: PrivateKey
    let devices: [DeviceCredentials]
    let providerContext: TLSContext
    /// By whether the device speaks the extended protocol.
    let plainContext: TLSContext
    let extendedContext: TLSContext

    /// A century, because the simulated time is far from the machine's.
    private static let days = 36_500

    init(devices count: Int) throws(TLSError) {
        let made = try CertificateAuthority.make(name: "Simulation", days: Self.days)
        let authority = try CertificateAuthority(certificatePEM: made.certificatePEM, keyPEM: made.keyPEM)
        let server = try authority.issueServer(names: ["localhost"], days: Self.days)
        files = InstanceFiles(
            certificatePEM: server.certificatePEM,
            keyPEM: server.keyPEM,
            caCertificatePEM: made.certificatePEM,
            caKeyPEM: made.keyPEM,
            // Nobody operates it.
            adminTokens: { AdminTokens(full: nil, readOnly: nil) }
        )
        providerKey = try PrivateKey.p256()
        var devices: [DeviceCredentials] = []
        for number in 0..<count {
            let key = try PrivateKey(pem: ellipticKey(number))
            let pem = try authority.issueDevice(publicKey: key.publicKey, name: "device", days: Self.days)
            let id = DeviceID(keyDigest: Digest.sha256(key.publicKey.spki.span))
            devices.append(DeviceCredentials(id: id, key: key, certificate: try Certificate(pem: pem).der))
        }
        self.devices = devices
        // Nothing is verified: the server is nobody else, and to verify it costs as much as all the rest of a step.
        providerContext = try TLSContext.client(caPEM: nil, alpn: ["h2"])
        plainContext = try TLSContext.client(caPEM: nil, alpn: ["apns-security-v3"])
        extendedContext = try TLSContext.client(caPEM: nil, alpn: ["carillon-push/1"])
    }

    /// What a provider proves its team with.
    func providerToken(at now: Moment) throws(TLSError) -> String {
        let header = base64URLEncoded(Array(#"{"alg":"ES256","kid":"\#(Self.keyID)"}"#.utf8))
        let claims = base64URLEncoded(Array(#"{"iss":"\#(Self.team)","iat":\#(now.seconds)}"#.utf8))
        let message = Array("\(header).\(claims)".utf8)
        return "\(header).\(claims).\(base64URLEncoded(try providerKey.signES256(message.span)))"
    }
}

/// A key for ECDSA on P-256 in PEM (RFC 5915, without its public half): the same for the same number.
private func ellipticKey(_ number: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(number) + 1)
    // Below the curve's order whatever follows.
    let scalar: [UInt8] = [0x7f] + (1..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let curve: [UInt8] = [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    let body: [UInt8] = [0x02, 0x01, 0x01, 0x04, 0x20] + scalar + curve
    let text = base64Encoded([0x30, UInt8(body.count)] + body)
    let label = "EC PRIVATE KEY"
    return Array("-----BEGIN \(label)-----\n\(text.prefix(64))\n\(text.dropFirst(64))\n-----END \(label)-----\n".utf8)
}
