import Admin
import JSON
import PushCore
import Reactor
import Storage
import TLS

@testable import Gateway

/// Requests to the admin API of a gateway with one loop and nothing in it, one to a line: `METHOD TARGET BODY`. Each
/// gets an answer in the API's form, reading changes nothing, pages are the list, and what was made is listed.
func fuzzAdmin(_ input: [UInt8]) {
    let admin = AdminInstance()
    defer { admin.close() }
    for line in input.split(separator: UInt8(ascii: "\n")).prefix(8) {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count > 1, !isSlow(line) else { continue }
        let body = parts.count > 2 ? Array(parts[2]) : []
        let method = String(decoding: parts[0], as: UTF8.self)
        let answer = admin.answer(method, String(decoding: parts[1], as: UTF8.self), body)
        if method == "POST", answer.status == 201 { checkMade(answer, admin) }
        for list in lists { checkPages(list, admin) }
    }
}

private let lists = ["apps", "keys", "devices", "registrations"]

/// A drain lasts a second, and an RSA key takes a tenth of one to make.
private func isSlow(_ line: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: line, as: UTF8.self)
    return text.contains("drain") || text.contains("rsa") || text.contains("%") && text.contains("v1/d")
}

/// What was made stands in one of the lists as it was answered.
private func checkMade(_ answer: Answer, _ admin: AdminInstance) {
    let all = lists.flatMap { admin.answer("GET", "/v1/\($0)?limit=1000", []).items }
    let ids = ["bundle", "keyID", "id", "token"]
    let isListed = all.contains { item in
        let name = ids.first { item[$0] != nil }
        return name.map { item[$0] == answer.body?[$0] } ?? false
            && (item.object ?? []).allSatisfy { answer.body?[$0.0] == $0.1 }
    }
    precondition(isListed, "what was made is not there")
}

/// One by one the items are those of the whole list.
private func checkPages(_ list: String, _ admin: AdminInstance) {
    let whole = admin.answer("GET", "/v1/\(list)?limit=1000", [])
    precondition(whole.status == 200 && whole.body?["next"] == .null, "a short list has one page")
    var (items, after): ([JSONValue], String?) = ([], nil)
    repeat {
        let page = admin.answer("GET", "/v1/\(list)?limit=1" + (after.map { "&after=\($0)" } ?? ""), [])
        items += page.items
        after = page.body?["next"]?.string
        precondition(items.count <= whole.items.count, "pages go on for ever")
    } while after != nil
    precondition(items == whole.items, "the pages are not the list")
}

private struct Answer {
    let status: Int
    let body: JSONValue?

    var items: [JSONValue] { body?["items"]?.array ?? [] }
}

/// The routes of a gateway, its loop and its store, each on its thread; time stands still.
private final class AdminInstance {
    private let routes: AdminRoutes
    private let loop: Worker
    private let shared: LoopShared

    init() {
        guard let store = try? StoreThread(store: MemoryStore()), let mailbox = try? Mailbox<LoopMessage>(),
            let reloads = try? Mailbox<ReloadRequest>(),
            let log = try? DeliveryLog(path: nil, keep: .days(7), rows: 100)
        else { preconditionFailure("no threads") }
        let (clock, metrics) = (GatewayClock(), Metrics())
        clock.hold(true)
        let shared = LoopShared(
            config: Config(),
            metrics: metrics,
            log: Log(level: .error, format: .text, clock: { clock.now() }, write: { _ in true }),
            clock: clock,
            store: store,
            deliveries: log,
            mailboxes: [mailbox],
            certificates: Certificates(Fixed.identity.certificates),
            answers: AnswerHook(),
            rates: Rates(metrics),
            addresses: AddressBook(AddressBook.Bounds(connections: 0))
        )
        let catalog = Catalog(version: 1, apps: [], keys: [])
        let control = Control(
            shared: shared,
            catalog: catalog,
            reloads: reloads,
            backups: nil,
            hasTestHooks: false
        )
        control.isStarting.set(0)
        routes = AdminRoutes(control: control, tokens: { Fixed.tokens })
        self.shared = shared
        loop = Self.start(shared, catalog)
    }

    private static func start(_ shared: LoopShared, _ catalog: Catalog) -> Worker {
        let worker = try? Worker(name: "loop") {
            let numbers = Numbers(afterPush: 0, afterRegistration: 0, loop: 0, of: 1)
            let home = Home(config: shared.config, metrics: shared.metrics, numbers: numbers)
            let contexts = Fixed.identity.contexts
            let start = LoopStart(home: home, catalog: catalog, contexts: contexts, listeners: [])
            guard let loop = try? Loop(index: 0, shared: shared, start: start) else { preconditionFailure("no loop") }
            loop.run()
        }
        guard let worker else { preconditionFailure("no thread") }
        return worker
    }

    func close() {
        shared.mailboxes[0].post(.stop)
        loop.join()
        shared.store.stop()
        shared.deliveries?.stop()
    }

    func answer(_ method: String, _ target: String, _ body: [UInt8]) -> Answer {
        var request = AdminRequest(method: method, target: target, body: body)
        // Without it nothing but this is learnt.
        let refused = routes.respond(to: request).status
        precondition(refused == 401 || refused == 404 || !request.path.hasPrefix("/v1"), "a stranger got in")
        request.authorization = SecretBytes(copying: Array("Bearer \(Fixed.token)".utf8))
        let answer = checked(routes.respond(to: request))
        if method == "GET", request.path != "/metrics" {
            let again = checked(routes.respond(to: request))
            precondition(again.status == answer.status && again.body == answer.body, "to read has changed it")
        }
        return answer
    }

    private func checked(_ response: AdminResponse) -> Answer {
        let statuses = [200, 201, 204, 400, 401, 403, 404, 405, 409]
        precondition(statuses.contains(response.status), "status \(response.status)")
        if let stream = response.stream { stream.cancel() }
        let bytes = response.secretBody?.withSpan { span in span.indices.map { span[$0] } } ?? response.body
        guard response.contentType == "application/json", !bytes.isEmpty else {
            precondition(response.status < 400, "an error without a word")
            return Answer(status: response.status, body: nil)
        }
        guard let body = try? JSONValue(parsing: bytes.span) else { preconditionFailure("not JSON") }
        if response.status >= 400 {
            let (code, message) = (body["error"]?["code"]?.string ?? "", body["error"]?["message"]?.string ?? "")
            precondition(!code.isEmpty && !message.isEmpty, "an error without a word")
        }
        return Answer(status: response.status, body: body)
    }
}

private enum Fixed {
    static let token = "0123456789abcdef0123456789abcdef"
    static let tokens: AdminTokens = {
        let bytes = Array(token.utf8)
        return AdminTokens(full: SecretDigest(of: bytes.span), readOnly: nil)
    }()

    /// Made anew each time, because no key stands in a source; what happens does not depend on it.
    static let identity: GatewayIdentity = {
        do {
            let made = try CertificateAuthority.make(name: "fuzz", days: 1)
            let authority = try CertificateAuthority(certificatePEM: made.certificatePEM, keyPEM: made.keyPEM)
            let server = try authority.issueServer(names: ["localhost"], days: 1)
            let files = InstanceFiles(
                certificatePEM: server.certificatePEM,
                keyPEM: server.keyPEM,
                caCertificatePEM: made.certificatePEM,
                caKeyPEM: made.keyPEM,
                adminTokens: { tokens }
            )
            return try GatewayIdentity(files, Config(), loops: 1, at: GatewayClock().now())
        } catch {
            preconditionFailure("no identity: \(error)")
        }
    }()
}
