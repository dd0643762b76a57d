import Client
import Gateway
import JSON

/// The running gateway, as a command speaks to it: its admin API, with the token.
struct AdminGateway {
    let url: String
    private let token: String
    private let client: HTTPClient

    /// An answer should come at once; a gateway that is busy with its store gets this long.
    private static let timeoutMilliseconds = 15_000

    /// Where the command line, or the settings it names, say the gateway is.
    init(_ invocation: Invocation) throws(CommandError) {
        if let url = invocation.value("admin") {
            try self.init(url: url, invocation)
        } else {
            try self.init(Instance.require(invocation), authority: invocation.value("ca"))
        }
    }

    /// The gateway of an instance on this machine.
    init(_ instance: Instance, authority: String? = nil) throws(CommandError) {
        let config = instance.config
        guard config.adminPort != 0 else {
            throw .failed(
                code: "unknown_port",
                message: "admin.port is 0: say --admin URL as in the gateway's ready line, with CARILLON_ADMIN_TOKEN"
            )
        }
        let address = reachable(host: config.adminHost, port: config.adminPort)
        url = "\(config.adminTLS ? "https" : "http")://\(address)"
        if let token = try Surroundings.variables()["CARILLON_ADMIN_TOKEN"] {
            self.token = token
        } else {
            token = try instance.adminToken()
        }
        client = HTTPClient(
            ca: config.adminTLS ? authority ?? instance.authorityPath : nil,
            timeoutMilliseconds: Self.timeoutMilliseconds
        )
    }

    private init(url: String, _ invocation: Invocation) throws(CommandError) {
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw .usage("--admin must be a URL such as http://127.0.0.1:8090")
        }
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        if let token = try Surroundings.variables()["CARILLON_ADMIN_TOKEN"] {
            self.token = token
        } else if let instance = try Instance.find(invocation) {
            token = try instance.adminToken()
        } else {
            throw .usage("--admin needs the admin token in CARILLON_ADMIN_TOKEN")
        }
        client = HTTPClient(ca: invocation.value("ca"), timeoutMilliseconds: Self.timeoutMilliseconds)
    }

    /// Sends a request and returns the answer's body, empty for 204. What the gateway refuses is thrown in its words.
    func request(
        _ method: String,
        _ path: String,
        query: [(name: String, value: String)] = [],
        body: JSONValue? = nil
    ) throws(CommandError) -> [UInt8] {
        let reply: HTTPReply
        do throws(HTTPFailure) {
            reply = try client.request(method, address(path, query), headers: headers, body: body?.encoded)
        } catch {
            throw failed(error)
        }
        guard (200..<300).contains(reply.status) else { throw refusal(reply.status, reply.body) }
        return reply.body
    }

    /// Every item of a list, page after page, as JSON.
    func items(
        _ path: String,
        query: [(name: String, value: String)] = [],
        _ body: (JSONValue) throws(CommandError) -> Void
    ) throws(CommandError) {
        var after: String?
        repeat {
            let place = after.map { [(name: "after", value: $0)] } ?? []
            let page = try parse(request("GET", path, query: query + [("limit", "1000")] + place))
            for item in page["items"]?.array ?? [] { try body(item) }
            after = page["next"].flatMap(text)
        } while after != nil
    }

    /// Every item of a list in one array.
    func items(_ path: String, query: [(name: String, value: String)] = []) throws(CommandError) -> [JSONValue] {
        var items: [JSONValue] = []
        try self.items(path, query: query) { items.append($0) }
        return items
    }

    /// Calls `body` with each line of an endless answer, until the gateway ends it.
    func stream(
        _ path: String,
        query: [(name: String, value: String)],
        _ body: (String) -> Bool
    ) throws(CommandError) {
        do throws(HTTPFailure) {
            try client.stream(address(path, query), headers: headers, onLine: body)
        } catch {
            throw failed(error)
        }
    }

    /// The body as a tree.
    func parse(_ body: [UInt8]) throws(CommandError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: body.span)
        } catch {
            throw .failed(code: "bad_answer", message: "\(url) answered what is not JSON: \(error)")
        }
    }

    private var headers: [(String, String)] {
        [("authorization", "Bearer \(token)"), ("content-type", "application/json")]
    }

    private func address(_ path: String, _ query: [(name: String, value: String)]) -> String {
        let parameters = query.map { "\(HTTPClient.escape($0.name))=\(HTTPClient.escape($0.value))" }
        return url + path + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
    }

    private func failed(_ failure: HTTPFailure) -> CommandError {
        switch failure.kind {
        case .unreachable, .timedOut:
            let message = "gateway not reachable at \(url); start it with carillon serve"
            return .failed(code: "unreachable", message: message)
        case .status(let status):
            return refusal(status, Array(failure.description.utf8))
        case .tls, .invalidRequest, .protocol:
            return .failed(code: "unreachable", message: failure.description)
        }
    }

    private func refusal(_ status: Int, _ body: [UInt8]) -> CommandError {
        // A proxy in between may answer something else: then the status has to do.
        let error = (try? JSONValue(parsing: body.span))?["error"]
        guard let code = error?["code"]?.string, let message = error?["message"]?.string else {
            return .failed(code: "http_\(status)", message: "\(url) answered \(status)")
        }
        return .failed(code: code, message: message)
    }
}

/// `host:port` as this machine reaches a listener: what binds every address is reached through loopback.
func reachable(host: String, port: UInt16) -> String {
    switch host {
    case "*", "0.0.0.0", "::", "[::]": "127.0.0.1:\(port)"
    default: host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// A value of an answer as a cell of a table: nothing for null or an empty list, blanks between the items of a list.
func text(_ value: JSONValue) -> String? {
    switch value {
    case .null: nil
    case .string(let text): text
    case .bool(let flag): flag ? "yes" : "no"
    case .array(let items): items.isEmpty ? nil : items.compactMap(text).joined(separator: " ")
    case .integer, .unsigned, .number, .object: String(decoding: value.encoded, as: UTF8.self)
    }
}
