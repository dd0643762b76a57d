import Admin
import JSON
import PushCore
import Storage
import TLS

/// `/v1/keys`.
struct KeyRoutes {
    private let control: Control

    private static let fields: KeyValuePairs<String, FieldKind> = [
        "team": .text, "environment": .text, "topics": .texts, "publicKey": .text, "keyID": .text,
    ]

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest, _ id: String?) throws(AdminFailure) -> AdminResponse {
        switch (request.method, id) {
        case ("GET", nil):
            let keys = control.currentCatalog.keys.values.map(\.record).sorted { $0.keyID < $1.keyID }
            return try ListPage(request).response(keys, key: \.keyID, write: write)
        case ("POST", nil): return try add(object(request, Self.fields))
        case ("DELETE", let id?): return try revoke(id)
        default: throw .methodNotAllowed
        }
    }

    private func add(_ body: JSONValue) throws(AdminFailure) -> AdminResponse {
        let team = try body.team()
        let keyID = body["keyID"]?.string ?? KeyID.random()
        guard KeyID.isValid(keyID) else { throw .badRequest("a key id has 10 of A-Z 0-9, not '\(keyID.excerpt)'") }
        let (publicKey, made) = try key(body)
        let record = ProviderKey(
            keyID: keyID,
            team: team,
            environment: try scope(body),
            topics: body.texts("topics"),
            publicKey: publicKey.spki,
            createdAt: control.now,
            revokedAt: nil
        )
        try control.update { catalog throws(AdminFailure) in
            if catalog.keys[keyID] != nil { throw .exists("key \(keyID) exists") }
            return (Array(catalog.apps.values), catalog.keys.values.map(\.record) + [record], [.saveKey(record)])
        }
        guard let made else { return AdminResponse(status: 201, body: json { write(record, &$0) }) }
        return AdminResponse(status: 201, secretBody: secretJSON(made) { write(record, &$0) })
    }

    private func key(_ body: JSONValue) throws(AdminFailure) -> (PublicKey, made: PrivateKey?) {
        do throws(TLSError) {
            guard let pem = body["publicKey"]?.string else {
                let made = try PrivateKey.p256()
                return (made.publicKey, made)
            }
            let key = try PublicKey(pem: Array(pem.utf8))
            guard key.kind == .p256 else { throw TLSError.credentials("a provider key is an EC key on P-256") }
            return (key, nil)
        } catch {
            throw .badRequest("publicKey cannot be used: \(error)")
        }
    }

    private func scope(_ body: JSONValue) throws(AdminFailure) -> ProviderKey.Scope {
        let text = body["environment"]?.string ?? "all"
        guard let scope = ProviderKey.Scope(rawValue: text) else {
            throw .badRequest("environment is development, production or all, not '\(text.excerpt)'")
        }
        return scope
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
