import Admin
import JSON
import PushCore
import Reactor

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
            return try add(object(request, ["topic": .text, "device": .text, "token": .text, "state": .text]))
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
            throw .badRequest("no app has the topic \(name.excerpt); add the app first")
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
            let mailboxes = loop.shared.mailboxes
            mailboxes[Int(token.bucket) % mailboxes.count].post(.perform { $0.home.elsewhere[token] = nil })
        }
        let made: RegistrationView? = try control.change(bucket: home, undo: undo) { loop in
            // Also `elsewhere`: since this loop said that the token was free, another may have taken it.
            guard loop.home.registrations[token] == nil, loop.home.elsewhere[token] == nil else { return nil }
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
        guard let text = body["device"]?.string else { return nil }
        guard let id = DeviceID(hex: text) else { throw .badRequest("device has 16 hexadecimal digits") }
        let isKnown = try control.ask(bucket: id.bucket) { loop in
            loop.home.devices[id]?.record.map { $0.removedAt == nil } ?? false
        }
        guard isKnown else { throw .badRequest("no device \(text.excerpt)") }
        return id
    }

    private func token(_ body: JSONValue, _ device: DeviceID?) throws(AdminFailure) -> DeviceToken {
        guard let text = body["token"]?.string else {
            return makeToken(bucket: device?.bucket ?? UInt16.random(in: 0 ... .max))
        }
        guard let token = DeviceToken(hex: text) else {
            throw .badRequest("token has 2 to 200 hexadecimal digits, an even number of them")
        }
        return token
    }

    private func state(_ body: JSONValue) throws(AdminFailure) -> Registration.State {
        switch body["state"]?.string ?? "active" {
        case "active": .active
        case "unregistered": .unregistered
        case "expired": .expired
        case let other: throw .badRequest("state is active, unregistered or expired, not '\(other.excerpt)'")
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
