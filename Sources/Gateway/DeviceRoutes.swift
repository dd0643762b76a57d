import Admin
import JSON
import PushCore
import TLS

/// `/v1/devices`.
struct DeviceRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest, _ id: String?) throws(AdminFailure) -> AdminResponse {
        switch (request.method, id) {
        case ("GET", nil):
            let all = try control.ask { $0.home.devices.values.compactMap(DeviceView.init) }.flatMap { $0 }
            let sorted = all.sorted { $0.record.id.description < $1.record.id.description }
            return try ListPage(request).response(sorted, key: \.record.id.description, write: write)
        case ("GET", let id?):
            let device = try identify(id)
            let found = try control.ask(bucket: device.bucket) { $0.home.devices[device].flatMap(DeviceView.init) }
            guard let found else { throw .notFound("no device \(id)") }
            return AdminResponse(status: 200, body: json { write(found, &$0) })
        case ("POST", nil): return try enroll(object(request, ["name": .text, "keyType": .text, "csr": .text]))
        case ("DELETE", let id?):
            let device = try identify(id)
            let now = control.now
            let wasThere = try control.change(bucket: device.bucket, undo: { _, _ in }) { loop in
                defer { loop.carryOutEffects() }
                return loop.home.remove(device, at: now)
            }
            guard wasThere else { throw .notFound("no device \(id)") }
            return AdminResponse(status: 204)
        default: throw .methodNotAllowed
        }
    }

    private func identify(_ id: String) throws(AdminFailure) -> DeviceID {
        guard let device = DeviceID(hex: id) else { throw .notFound("no device \(id); ids have 16 hexadecimal digits") }
        return device
    }

    private func enroll(_ body: JSONValue) throws(AdminFailure) -> AdminResponse {
        let name = try body.text("name")
        guard (1...Limits.deviceName).contains(name.utf8.count) else {
            throw .badRequest("name has 1 to \(Limits.deviceName) bytes")
        }
        guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .badRequest("name has control characters")
        }
        let issued = try issue(name, body)
        let key = issued.certificate.publicKey
        let id = DeviceID(keyDigest: Digest.sha256(key.spki.span))
        let now = control.now
        let device = Device(
            id: id,
            name: name,
            keyType: key.kind == .p256 ? .ec : .rsa,
            baseToken: makeToken(bucket: id.bucket),
            certificateNotAfter: Moment(seconds: issued.certificate.notAfter),
            signer: issued.signer,
            createdAt: now,
            removedAt: nil
        )
        try control.change(bucket: id.bucket, undo: { _, _ in }) { $0.home.enroll(device) }
        let found = try control.ask(bucket: id.bucket) { $0.home.devices[id].flatMap(DeviceView.init) }
        guard let found else { throw .unavailable }
        let fields: (inout JSONWriter) -> Void = { writer in
            write(found, &writer)
            writer.field("certificate", String(decoding: issued.pem, as: UTF8.self))
            writer.field("ca", String(decoding: issued.authoritiesPEM, as: UTF8.self))
        }
        guard let made = issued.made else { return AdminResponse(status: 201, body: json(fields)) }
        return AdminResponse(status: 201, secretBody: secretJSON(made, fields))
    }

    /// A new certificate, and what belongs to it.
    private struct Issued {
        let pem: [UInt8]
        let certificate: Certificate
        let signer: UInt64
        /// Whom the device is to trust: also the authority that is on its way out, if there is one.
        let authoritiesPEM: [UInt8]
        /// The key, if the gateway made it.
        let made: PrivateKey?
    }

    private func issue(_ name: String, _ body: JSONValue) throws(AdminFailure) -> Issued {
        let (publicKey, made) = try key(body)
        let inForce = control.certificates.current
        do throws(TLSError) {
            let pem = try inForce.authority.issueDevice(
                publicKey: publicKey,
                name: name,
                days: CertificateLife.device.days
            )
            return Issued(
                pem: pem,
                certificate: try Certificate(pem: pem),
                signer: authorityNumber(inForce.authority.certificate),
                authoritiesPEM: inForce.authorities.flatMap(\.pem),
                made: made
            )
        } catch {
            throw .badRequest("no certificate was made: \(error)")
        }
    }

    /// The device's key: that of its request, or a new one.
    private func key(_ body: JSONValue) throws(AdminFailure) -> (PublicKey, made: PrivateKey?) {
        do throws(TLSError) {
            if let csr = body["csr"]?.string {
                let request = try CertificateRequest(pem: Array(csr.utf8))
                try checkFit(request.publicKey.kind)
                try request.verify()
                return (request.publicKey, nil)
            }
            let made: PrivateKey
            switch body["keyType"]?.string ?? "ec" {
            case "ec": made = try PrivateKey.p256()
            case "rsa": made = try PrivateKey.rsa(bits: max(2048, control.shared.config.deviceMinimumRSABits))
            case let other: throw TLSError.credentials("keyType is ec or rsa, not '\(other.excerpt)'")
            }
            try checkFit(made.publicKey.kind)
            return (made.publicKey, made)
        } catch {
            throw .badRequest("no certificate was made: \(error)")
        }
    }

    /// A key that would be refused with each Connect is refused here, where somebody reads why.
    private func checkFit(_ kind: PublicKey.Kind) throws(TLSError) {
        let config = control.shared.config
        if case .rsa(let bits) = kind {
            guard config.deviceRSA else { throw .credentials("RSA keys are refused: device.rsa is off") }
            let minimum = config.deviceMinimumRSABits
            guard bits >= minimum else {
                throw .credentials("an RSA key of \(bits) bits is too short: device.minimumRSABits is \(minimum)")
            }
        }
        guard kind.isFitForDevice(minimumRSABits: config.deviceMinimumRSABits) else {
            throw .credentials("a device's key is P-256, or RSA with at most 4096 bits")
        }
    }

    private func write(_ device: DeviceView, _ writer: inout JSONWriter) {
        writer.field("id", device.record.id.description)
        writer.field("name", device.record.name)
        writer.field("keyType", device.record.keyType.rawValue)
        writer.field("connected", device.isConnected)
        writer.field("awake", device.isAwake)
        writer.field("connectedAt", device.connectedAt.map(timestamp))
        writer.field("lastSeenAt", device.lastSeenAt.map(timestamp))
        writer.field("certificateNotAfter", timestamp(device.record.certificateNotAfter))
    }
}

/// What the admin API tells of a device.
private struct DeviceView: Sendable {
    let record: Device
    let isConnected: Bool
    let isAwake: Bool?
    let connectedAt: Moment?
    let lastSeenAt: Moment?

    init?(_ state: DeviceState) {
        guard let record = state.record, record.removedAt == nil else { return nil }
        self.record = record
        isConnected = state.session != nil
        isAwake = state.queue.isAwake
        connectedAt = state.session?.connectedAt
        lastSeenAt = state.lastSeenAt
    }
}
