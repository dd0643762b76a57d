import Admin
import JSON
import PushCore
import Storage
import TLS

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

/// What the admin API tells of a registration.
private struct RegistrationView: Sendable {
    let record: Registration
    let isEnabled: Bool
    let stored: Int

    init(_ state: RegistrationState) {
        record = state.record
        isEnabled = state.owner.queue.mode(of: state.record.number).delivers
        stored = state.owner.queue.held(for: state.record.number).count
    }
}

/// `/v1/registrations`.
struct RegistrationRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest, _ token: String?) throws(AdminFailure) -> AdminResponse {
        switch (request.method, token) {
        case ("GET", nil): return try list(request)
        case ("POST", nil):
            guard control.shared.config.environment == .development else {
                throw .forbidden("in production only devices make registrations")
            }
            return try add(object(request))
        case ("DELETE", let token?): return try revoke(token)
        default: throw .methodNotAllowed
        }
    }

    private func list(_ request: AdminRequest) throws(AdminFailure) -> AdminResponse {
        let (device, topic) = (request.query["device"], request.query["topic"])
        let found = try control.ask { loop in
            loop.home.registrations.values.filter { state in
                (device.map { state.record.device?.description == $0 } ?? true)
                    && (topic.map { state.record.topic == $0 } ?? true)
            }.map(RegistrationView.init)
        }
        let sorted = found.flatMap { $0 }.sorted { $0.record.number < $1.record.number }
        return try ListPage(request).response(sorted, key: { pageKey($0.record.number) }, write: write)
    }

    private func add(_ body: JSONValue) throws(AdminFailure) -> AdminResponse {
        let name = try body.text("topic")
        guard let topic = control.currentCatalog.topicsByName[name] else {
            throw .badRequest("no app has the topic \(name); add the app first")
        }
        let device = try device(body)
        let token = try token(body, device)
        let state = try state(body)
        let now = control.now
        let home = device?.bucket ?? token.bucket
        try reserve(token, home)
        let undo: @Sendable (Loop, RegistrationView?) -> Void = { loop, made in
            guard made != nil, let registration = loop.home.registrations[token] else { return }
            loop.home.takeBack(registration, at: now)
        }
        let made: RegistrationView? = try control.change(bucket: home, undo: undo) { loop in
            guard loop.home.registrations[token] == nil else { return nil }
            let record = Registration(
                number: loop.home.numbers.nextRegistration(),
                token: token,
                device: device,
                topic: name,
                createdAt: now,
                state: state,
                revokedAt: state == .active ? nil : now
            )
            loop.home.adopt(record, topic: topic)
            return loop.home.registrations[token].map(RegistrationView.init)
        }
        guard let made else { throw .exists("a registration with this token exists") }
        return AdminResponse(status: 201, body: json { write(made, &$0) })
    }

    /// The loop that a token seems to belong to knows where it really is at home, and that it is taken.
    private func reserve(_ token: DeviceToken, _ home: UInt16) throws(AdminFailure) {
        let isFree = try control.ask(bucket: token.bucket) { loop in
            guard loop.home.registrations[token] == nil, loop.home.elsewhere[token] == nil else { return false }
            if loop.loop(of: home) != loop.index { loop.home.elsewhere[token] = home }
            return true
        }
        guard isFree else { throw .exists("a registration with this token exists") }
    }

    private func device(_ body: JSONValue) throws(AdminFailure) -> DeviceID? {
        guard let text = try body.optionalText("device") else { return nil }
        guard let id = DeviceID(hex: text) else { throw .badRequest("device has 16 hexadecimal digits") }
        let isKnown = try control.ask(bucket: id.bucket) { loop in
            loop.home.devices[id]?.record.map { $0.removedAt == nil } ?? false
        }
        guard isKnown else { throw .badRequest("no device \(text)") }
        return id
    }

    private func token(_ body: JSONValue, _ device: DeviceID?) throws(AdminFailure) -> DeviceToken {
        guard let text = try body.optionalText("token") else {
            return makeToken(bucket: device?.bucket ?? UInt16.random(in: 0 ... .max))
        }
        guard let token = DeviceToken(hex: text) else {
            throw .badRequest("token has 2 to 200 hexadecimal digits, an even number of them")
        }
        return token
    }

    private func state(_ body: JSONValue) throws(AdminFailure) -> Registration.State {
        switch try body.optionalText("state") ?? "active" {
        case "active": .active
        case "unregistered": .unregistered
        case "expired": .expired
        case let other: throw .badRequest("state is active, unregistered or expired, not '\(other)'")
        }
    }

    private func revoke(_ text: String) throws(AdminFailure) -> AdminResponse {
        guard let token = DeviceToken(hex: text) else { throw .notFound("no registration with this token") }
        let now = control.now
        let home = try control.ask(bucket: token.bucket) { $0.home.elsewhere[token] ?? token.bucket }
        let wasThere = try control.change(bucket: home, undo: { _, _ in }) { loop in
            guard let registration = loop.home.registrations[token], registration.record.state == .active else {
                return false
            }
            loop.home.revoke(registration, at: now)
            loop.carryOutEffects()
            return true
        }
        guard wasThere else { throw .notFound("no active registration with this token") }
        return AdminResponse(status: 204)
    }

    private func write(_ view: RegistrationView, _ writer: inout JSONWriter) {
        writer.field("token", view.record.token.hex)
        writer.field("device", view.record.device?.description)
        writer.field("topic", view.record.topic)
        writer.field("enabled", view.isEnabled)
        writer.field("stored", view.stored)
        writer.field("createdAt", timestamp(view.record.createdAt))
        writer.field("revokedAt", view.record.revokedAt.map(timestamp))
    }
}

extension Loop {
    /// Ends every registration that fits.
    func revokeAll(where fits: (RegistrationState) -> Bool) {
        for registration in home.registrations.values where fits(registration) {
            home.revoke(registration, at: now)
        }
        carryOutEffects()
    }
}
