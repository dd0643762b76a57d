import Admin
import Client
import Testing

@Suite struct AdminServerTests {
    /// A server on a free port of this machine that says what it was asked.
    private func echoServer(host: String = "127.0.0.1") throws -> AdminServer {
        try AdminServer(host: host, port: 0, tls: nil) { request in
            var response = AdminResponse(
                status: 200,
                contentType: "text/plain",
                body: Array(describe(request).utf8)
            )
            response.headers = [("X-Method", request.method)]
            return response
        }
    }

    private func send(
        _ method: String,
        _ path: String,
        to server: AdminServer,
        headers: [(String, String)] = [],
        body: [UInt8]? = nil
    ) throws -> HTTPReply {
        try HTTPClient(ca: nil, timeoutMilliseconds: 5000)
            .request(method, "http://127.0.0.1:\(server.port)\(path)", headers: headers, body: body)
    }

    @Test func `a request arrives whole and its answer too`() throws {
        let server = try echoServer()
        let headers = [("Authorization", "Bearer x"), ("Empty", "")]
        let reply = try send(
            "POST",
            "/v1/a%20b?x=%26",
            to: server,
            headers: headers,
            body: Array("body".utf8)
        )
        #expect(reply.status == 200)
        #expect(reply.header("content-type") == "text/plain")
        #expect(reply.header("x-method") == "POST")
        #expect(
            String(decoding: reply.body, as: UTF8.self)
                == "POST /v1/a b [\"x\": \"&\"] Bearer x 4 true"
        )
        server.stop()
    }

    @Test(arguments: ["GET", "PUT", "PATCH", "DELETE"])
    func `methods pass`(_ method: String) throws {
        let server = try echoServer()
        #expect(try send(method, "/", to: server).header("x-method") == method)
    }

    @Test func `HEAD is GET without a body`() throws {
        let server = try echoServer()
        let reply = try send("HEAD", "/", to: server)
        #expect(reply.status == 200)
        #expect(reply.header("x-method") == "GET")
        #expect(reply.header("content-length") != "0")
        #expect(reply.body.isEmpty)
    }

    @Test func `OPTIONS is answered without asking and allows no other origin`() throws {
        let server = try echoServer()
        let reply = try send("OPTIONS", "/", to: server, headers: [("Origin", "http://evil")])
        #expect(reply.status == 204)
        #expect(reply.header("allow")?.contains("DELETE") == true)
        #expect(!reply.headers.contains { $0.0.lowercased().hasPrefix("access-control") })
    }

    @Test func `a method that is not known is not implemented`() throws {
        let server = try echoServer()
        #expect(try send("TRACE", "/", to: server).status == 501)
    }

    @Test(arguments: [0, 1, 65_536, 1 << 20])
    func `a body may have a mebibyte`(_ count: Int) throws {
        let server = try echoServer()
        let reply = try send("POST", "/", to: server, body: [UInt8](repeating: 7, count: count))
        #expect(String(decoding: reply.body, as: UTF8.self).hasSuffix(" \(count) true"))
    }

    @Test func `a larger body is refused by its declared length`() throws {
        let server = try echoServer()
        let reply = try send("POST", "/", to: server, body: [UInt8](repeating: 7, count: (1 << 20) + 1))
        #expect(reply.status == 413)
        #expect(String(decoding: reply.body, as: UTF8.self).hasPrefix(#"{"error":{"code":"too_large""#))
    }

    @Test func `a larger body is refused also when its length is not declared`() throws {
        let server = try echoServer()
        let body = [UInt8](repeating: 7, count: (1 << 20) + 1)
        let headers = [("Transfer-Encoding", "chunked")]
        #expect(try send("POST", "/", to: server, headers: headers, body: body).status == 413)
        #expect(
            try send("POST", "/", to: server, headers: headers, body: body.dropLast()).status == 200
        )
    }

    @Test func `a large answer arrives whole`() throws {
        let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let server = try AdminServer(host: "127.0.0.1", port: 0, tls: nil) { _ in
            AdminResponse(status: 200, body: body)
        }
        #expect(try send("GET", "/", to: server).body == body)
    }

    @Test func `headers beyond the limit are refused`() throws {
        let server = try echoServer()
        let status = try? send(
            "GET",
            "/",
            to: server,
            headers: [("X", String(repeating: "x", count: 40_000))]
        ).status
        #expect(status == nil || status == 431)
        #expect(try send("GET", "/", to: server).status == 200)
    }

    @Test func `a connection serves many requests`() throws {
        let server = try echoServer()
        let client = HTTPClient(ca: nil, timeoutMilliseconds: 5000)
        for _ in 0..<100 {
            let reply = try client.request(
                "GET",
                "http://127.0.0.1:\(server.port)/",
                headers: [],
                body: nil
            )
            #expect(reply.status == 200)
        }
    }

    @Test func `all addresses are IPv4 and IPv6 together`() throws {
        let server = try echoServer(host: "*")
        let client = HTTPClient(ca: nil, timeoutMilliseconds: 5000)
        for host in ["127.0.0.1", "[::1]"] {
            let reply = try client.request(
                "GET",
                "http://\(host):\(server.port)/",
                headers: [],
                body: nil
            )
            #expect(String(decoding: reply.body, as: UTF8.self).hasSuffix(" 0 true"))
        }
    }

    @Test func `a port in use is named`() throws {
        let server = try echoServer()
        let error = #expect(throws: AdminError.self) {
            try AdminServer(host: "127.0.0.1", port: server.port, tls: nil) { _ in
                AdminResponse(status: 200)
            }
        }
        #expect(error == .addressInUse("127.0.0.1:\(server.port)"))
        #expect(error?.description == "admin: another program listens on 127.0.0.1:\(server.port)")
    }

    @Test func `a host that is none is named`() {
        let error = #expect(throws: AdminError.self) {
            try AdminServer(host: "no host", port: 0, tls: nil) { _ in AdminResponse(status: 200) }
        }
        #expect(error?.description.hasPrefix("admin: no host is no address to listen on") == true)
    }

    @Test func `a stopped server is gone and may be started again`() throws {
        let server = try echoServer()
        server.stop()
        server.stop()
        let failure = #expect(throws: HTTPFailure.self) { try send("GET", "/", to: server) }
        #expect(failure?.kind == .unreachable)
        let again = try AdminServer(host: "127.0.0.1", port: server.port, tls: nil) { _ in
            AdminResponse(status: 204)
        }
        #expect(try send("GET", "/", to: again).status == 204)
    }
}

private func describe(_ request: AdminRequest) -> String {
    "\(request.method) \(request.path) \(request.query) \(request.authorization.map(text) ?? "-") "
        + "\(request.body.count) \(request.peerIsLoopback)"
}

private func text(_ bytes: SecretBytes) -> String {
    bytes.withSpan { span in String(decoding: span.indices.map { span[$0] }, as: UTF8.self) }
}
