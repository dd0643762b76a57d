import Admin
import JSON
import PushCore
import TLS

/// The admin API: paths and methods to what `Control` does (docs/operations.md).
struct AdminRoutes: Sendable {
    let control: Control
    /// Read again for each request: a token is void as soon as its file says so.
    let tokens: @Sendable () -> AdminTokens
    private let door: AdminDoor

    init(control: Control, tokens: @escaping @Sendable () -> AdminTokens) {
        self.control = control
        self.tokens = tokens
        door = AdminDoor(control.shared.config)
    }

    func respond(to request: AdminRequest) -> AdminResponse {
        do throws(AdminFailure) {
            try door.check(request, certificateNames: control.serverNames)
            return try route(request)
        } catch {
            return failure(error)
        }
    }

    private func route(_ request: AdminRequest) throws(AdminFailure) -> AdminResponse {
        switch request.path {
        case "/healthz": return try get(request) { () throws(AdminFailure) in AdminResponse(status: 200) }
        case "/readyz": return try get(request) { () throws(AdminFailure) in readiness }
        case "/metrics":
            if !request.peerIsLoopback || !isLoopback(control.shared.config.adminHost) { try authorize(request) }
            let page = MetricsPage(control).text
            return AdminResponse(status: 200, contentType: "text/plain; version=0.0.4", body: Array(page.utf8))
        default: break
        }
        var parts = request.path.split(separator: "/", omittingEmptySubsequences: false).map(String.init).dropFirst()
        guard parts.first == "v1" else { throw .notFound("no such path; the API begins at /v1") }
        try authorize(request)
        parts = parts.dropFirst()
        let name = parts.first ?? ""
        parts = parts.dropFirst()
        guard parts.count <= 1 else { throw .notFound("no such path") }
        return try resource(name, parts.first, request)
    }

    private func resource(
        _ name: String,
        _ id: String?,
        _ request: AdminRequest
    ) throws(AdminFailure) -> AdminResponse {
        switch (name, request.method, id) {
        case ("status", "GET", nil): return StatusRoutes(control).status
        case ("apps", _, _): return try AppRoutes(control).respond(request, id)
        case ("keys", _, _): return try KeyRoutes(control).respond(request, id)
        case ("devices", _, _): return try DeviceRoutes(control).respond(request, id)
        case ("registrations", _, _): return try RegistrationRoutes(control).respond(request, id)
        case ("notifications", "GET", nil): return try NotificationRoutes(control).respond(request)
        case ("queues", "GET", let token?): return try QueueRoutes(control).respond(request, token)
        case ("certificates", "GET", nil): return try CertificateRoutes(control).respond(request)
        case ("reload", "POST", nil):
            try control.reload()
            return AdminResponse(status: 201, body: Array(#"{"reloaded":true}"#.utf8))
        case ("backups", _, _): return try BackupRoutes(control).respond(request, id)
        case ("drain", "POST", nil):
            try control.beginDrain()
            return AdminResponse(status: 201, body: Array(#"{"draining":true}"#.utf8))
        case ("drain", "DELETE", nil):
            try control.endDrain()
            return AdminResponse(status: 204)
        case ("test", "POST", let hook?) where control.hasTestHooks:
            return try TestRoutes(control).respond(request, hook)
        case ("test", _, _): throw .notFound("test hooks are off; start with carillon serve --test-hooks")
        case ("status", _, nil), ("notifications", _, nil), ("queues", _, _?), ("drain", _, nil), ("reload", _, nil),
            ("certificates", _, nil):
            throw .methodNotAllowed
        default: throw .notFound("no such path")
        }
    }

    private func get(
        _ request: AdminRequest,
        _ answer: () throws(AdminFailure) -> AdminResponse
    ) throws(AdminFailure) -> AdminResponse {
        guard request.method == "GET" || request.method == "HEAD" else { throw .methodNotAllowed }
        return try answer()
    }

    private var readiness: AdminResponse {
        let reasons = control.reasonsNotReady
        if reasons.isEmpty { return AdminResponse(status: 200, body: Array(#"{"reasons":[]}"#.utf8)) }
        return AdminResponse(
            status: 503,
            body: json { $0.field("reasons", JSONValue.array(reasons.map(JSONValue.string))) }
        )
    }

    private func authorize(_ request: AdminRequest) throws(AdminFailure) {
        guard let access = tokens().access(request.authorization) else { throw .unauthorized }
        try access.check(request)
        try checkContent(request)
    }

    /// What a form can send without asking first is not taken for JSON, whatever it looks like. A script that says
    /// nothing of its body is no form.
    private func checkContent(_ request: AdminRequest) throws(AdminFailure) {
        guard request.method == "POST", let type = request.contentType else { return }
        let kind = type.prefix { $0 != ";" }
        guard trimmed(String(kind)).lowercased() == "application/json" else {
            throw .unsupportedContent("the body of a POST is JSON: send Content-Type: application/json")
        }
    }

    private func failure(_ failure: AdminFailure) -> AdminResponse {
        let body = json { writer in
            writer.key("error")
            writer.object { error in
                error.field("code", failure.code)
                error.field("message", failure.message)
            }
        }
        return AdminResponse(status: failure.status, body: body)
    }
}
