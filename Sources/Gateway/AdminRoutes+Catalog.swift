import Admin
import JSON
import PushCore
import Storage
import TLS

/// `/v1/apps`.
struct AppRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest, _ bundle: String?) throws(AdminFailure) -> AdminResponse {
        switch (request.method, bundle) {
        case ("GET", nil):
            let apps = control.currentCatalog.apps.values.sorted { $0.bundle < $1.bundle }
            return try ListPage(request).response(apps, key: \.bundle, write: write)
        case ("GET", let bundle?):
            guard let app = control.currentCatalog.apps[bundle] else { throw .notFound("no app \(bundle)") }
            return AdminResponse(status: 200, body: json { write(app, &$0) })
        case ("POST", nil): return try add(object(request))
        case ("DELETE", let bundle?): return try remove(bundle)
        default: throw .methodNotAllowed
        }
    }

    private func add(_ body: JSONValue) throws(AdminFailure) -> AdminResponse {
        let app = App(
            bundle: try body.text("bundle"),
            team: try body.text("team"),
            broadcast: try body.optionalBool("broadcast") ?? false
        )
        try check(app)
        try control.update { catalog throws(AdminFailure) in
            if let known = catalog.apps[app.bundle] {
                throw .exists("app \(app.bundle) exists and belongs to team \(known.team)")
            }
            if catalog.topicsByName[app.bundle] != nil { throw .exists("\(app.bundle) is a topic of another app") }
            let apps = Array(catalog.apps.values) + [app]
            return (apps, catalog.keys.values.map(\.record), [.saveApp(app)])
        }
        return AdminResponse(status: 201, body: json { write(app, &$0) })
    }

    private func check(_ app: App) throws(AdminFailure) {
        try checkTeam(app.team)
        let allowed = app.bundle.utf8.allSatisfy { isNameByte($0) }
        guard allowed, (1...Limits.topic - 40).contains(app.bundle.utf8.count) else {
            throw .badRequest("a bundle id has 1 to \(Limits.topic - 40) of A-Z a-z 0-9 . _ -, not '\(app.bundle)'")
        }
        if let suffix = PushType.topicSuffixes.first(where: app.bundle.hasSuffix) {
            throw .badRequest("a bundle id must not end in \(suffix): that is a topic of the app before it")
        }
    }

    private func remove(_ bundle: String) throws(AdminFailure) -> AdminResponse {
        try control.update { catalog throws(AdminFailure) in
            guard catalog.apps[bundle] != nil else { throw .notFound("no app \(bundle)") }
            let apps = catalog.apps.values.filter { $0.bundle != bundle }
            return (Array(apps), catalog.keys.values.map(\.record), [.removeApp(bundle: bundle)])
        }
        for loop in control.shared.mailboxes.indices {
            try control.change(bucket: UInt16(loop), undo: { _, _ in }) { loop in
                loop.revokeAll { $0.topic?.bundle == bundle }
            }
        }
        return AdminResponse(status: 204)
    }

    private func write(_ app: App, _ writer: inout JSONWriter) {
        writer.field("bundle", app.bundle)
        writer.field("team", app.team)
        writer.field("broadcast", app.broadcast)
        let topics = Catalog.suffixes(of: app).map { JSONValue.string(app.bundle + ($0 ?? "")) }
        writer.field("topics", JSONValue.array(topics))
    }
}

/// `/v1/keys`.
struct KeyRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest, _ id: String?) throws(AdminFailure) -> AdminResponse {
        switch (request.method, id) {
        case ("GET", nil):
            let keys = control.currentCatalog.keys.values.map(\.record).sorted { $0.keyID < $1.keyID }
            return try ListPage(request).response(keys, key: \.keyID, write: write)
        case ("POST", nil): return try add(object(request))
        case ("DELETE", let id?): return try revoke(id)
        default: throw .methodNotAllowed
        }
    }

    private func add(_ body: JSONValue) throws(AdminFailure) -> AdminResponse {
        let team = try body.text("team")
        try checkTeam(team)
        let keyID = try body.optionalText("keyID") ?? KeyID.random()
        guard KeyID.isValid(keyID) else { throw .badRequest("a key id has 10 of A-Z 0-9, not '\(keyID)'") }
        let (publicKey, privatePEM) = try key(body)
        let record = ProviderKey(
            keyID: keyID,
            team: team,
            environment: try scope(body),
            topics: try topics(body),
            publicKey: publicKey.spki,
            createdAt: control.now,
            revokedAt: nil
        )
        try control.update { catalog throws(AdminFailure) in
            if catalog.keys[keyID] != nil { throw .exists("key \(keyID) exists") }
            return (Array(catalog.apps.values), catalog.keys.values.map(\.record) + [record], [.saveKey(record)])
        }
        return AdminResponse(
            status: 201,
            body: json { writer in
                write(record, &writer)
                if let privatePEM { writer.field("privateKey", privatePEM) }
            }
        )
    }

    private func key(_ body: JSONValue) throws(AdminFailure) -> (PublicKey, privatePEM: String?) {
        do throws(TLSError) {
            guard let pem = body["publicKey"]?.string else {
                let made = try PrivateKey.p256()
                return (made.publicKey, String(decoding: made.pem, as: UTF8.self))
            }
            let key = try PublicKey(pem: Array(pem.utf8))
            guard key.kind == .p256 else { throw TLSError.credentials("a provider key is an EC key on P-256") }
            return (key, nil)
        } catch {
            throw .badRequest("publicKey cannot be used: \(error)")
        }
    }

    private func scope(_ body: JSONValue) throws(AdminFailure) -> ProviderKey.Scope {
        let text = try body.optionalText("environment") ?? "all"
        guard let scope = ProviderKey.Scope(rawValue: text) else {
            throw .badRequest("environment is development, production or all, not '\(text)'")
        }
        return scope
    }

    private func topics(_ body: JSONValue) throws(AdminFailure) -> [String] {
        guard let list = body["topics"], !list.isNull else { return [] }
        guard let items = list.array, items.count <= Limits.keyTopics else {
            throw .badRequest("topics is a list of at most \(Limits.keyTopics) texts")
        }
        let topics = items.compactMap(\.string)
        guard topics.count == items.count else { throw .badRequest("topics is a list of texts") }
        return topics
    }

    private func revoke(_ id: String) throws(AdminFailure) -> AdminResponse {
        let now = control.now
        try control.update { catalog throws(AdminFailure) in
            guard var record = catalog.keys[id]?.record else { throw .notFound("no key \(id)") }
            record.revokedAt = record.revokedAt ?? now
            let keys = catalog.keys.values.map { $0.record.keyID == id ? record : $0.record }
            return (Array(catalog.apps.values), keys, [.saveKey(record)])
        }
        return AdminResponse(status: 204)
    }

    private func write(_ key: ProviderKey, _ writer: inout JSONWriter) {
        writer.field("keyID", key.keyID)
        writer.field("team", key.team)
        writer.field("environment", key.environment.rawValue)
        writer.field("topics", JSONValue.array(key.topics.map(JSONValue.string)))
        writer.field("createdAt", timestamp(key.createdAt))
        writer.field("revokedAt", key.revokedAt.map(timestamp))
    }
}

private func checkTeam(_ team: String) throws(AdminFailure) {
    guard KeyID.isValid(team) else { throw .badRequest("a team id has 10 of A-Z 0-9, not '\(team)'") }
}

private func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
    default: false
    }
}
