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
        case ("POST", nil): return try enroll(object(request))
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
        let issued = try issue(name, body)
        let key = issued.certificate.publicKey
        let id = deviceID(spkiDigest: Digest.sha256(key.spki.span))
        let now = control.now
        let device = Device(
            id: id,
            name: name,
            keyType: key.kind == .p256 ? .ec : .rsa,
            baseToken: makeToken(bucket: id.bucket),
            certificateNotAfter: Moment(seconds: issued.certificate.notAfter),
            createdAt: now,
            removedAt: nil
        )
        try control.change(bucket: id.bucket, undo: { _, _ in }) { $0.home.enroll(device) }
        let found = try control.ask(bucket: id.bucket) { $0.home.devices[id].flatMap(DeviceView.init) }
        guard let found else { throw .unavailable }
        let body = json { writer in
            write(found, &writer)
            writer.field("certificate", String(decoding: issued.pem, as: UTF8.self))
            writer.field("ca", String(decoding: control.authority.certificate.pem, as: UTF8.self))
            if let pem = issued.privatePEM { writer.field("privateKey", pem) }
        }
        return AdminResponse(status: 201, body: body)
    }

    private struct Issued {
        let pem: [UInt8]
        let certificate: Certificate
        let privatePEM: String?
    }

    private func issue(_ name: String, _ body: JSONValue) throws(AdminFailure) -> Issued {
        let authority = control.authority
        do throws(TLSError) {
            if let csr = body["csr"]?.string {
                let pem = try authority.sign(csrPEM: Array(csr.utf8), name: name, days: Limits.deviceCertificateDays)
                return Issued(pem: pem, certificate: try Certificate(pem: pem), privatePEM: nil)
            }
            let key: PrivateKey
            switch body["keyType"]?.string ?? "ec" {
            case "ec": key = try PrivateKey.p256()
            case "rsa": key = try PrivateKey.rsa(bits: 2048)
            case let other: throw TLSError.credentials("keyType is ec or rsa, not '\(other)'")
            }
            let pem = try authority.issueDevice(
                publicKey: key.publicKey,
                name: name,
                days: Limits.deviceCertificateDays
            )
            let privatePEM = String(decoding: key.pem, as: UTF8.self)
            return Issued(pem: pem, certificate: try Certificate(pem: pem), privatePEM: privatePEM)
        } catch {
            throw .badRequest("no certificate was made: \(error)")
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
