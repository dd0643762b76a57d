import Admin
import JSON
import PushCore
import Storage

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
        case ("POST", nil):
            // The topics follow from the bundle; who sends an item back as it was read is not refused.
            return try add(object(request, ["bundle": .text, "team": .text, "broadcast": .flag, "topics": .texts]))
        case ("DELETE", let bundle?): return try remove(bundle)
        default: throw .methodNotAllowed
        }
    }

    private func add(_ body: JSONValue) throws(AdminFailure) -> AdminResponse {
        let app = App(
            bundle: try body.text("bundle"),
            team: try body.team(),
            broadcast: body["broadcast"]?.bool ?? false
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
        guard app.bundle.utf8.allSatisfy(isTopicByte), (1...Limits.bundle).contains(app.bundle.utf8.count) else {
            throw .badRequest(
                "a bundle id has 1 to \(Limits.bundle) of A-Z a-z 0-9 . _ -, not '\(app.bundle.excerpt)'"
            )
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

extension Loop {
    /// Ends every registration that fits.
    func revokeAll(where fits: (RegistrationState) -> Bool) {
        for registration in home.registrations.values where fits(registration) {
            home.revoke(registration, at: now)
        }
        carryOutEffects()
    }
}
