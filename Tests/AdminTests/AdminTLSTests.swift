import Admin
import Client
import Glibc
import Testing

@Suite struct AdminTLSTests {
    /// A certificate for localhost that signs itself, made anew by OpenSSL's command, and the file it stands in.
    private struct Identity {
        let certificate: [UInt8]
        let key: [UInt8]
        let file: String

        init(options: String) throws {
            let parent = getenv("TMPDIR").map { String(cString: $0) } ?? P_tmpdir
            let directory = try #require(
                mkdtemp(strdup(parent + "/admin-tls-XXXXXX")).map { String(cString: $0) }
            )
            file = directory + "/certificate.pem"
            let key = directory + "/key.pem"
            let command =
                "openssl req -x509 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
            let pipe = try #require(popen("\(command) \(options) -keyout \(key) -out \(file) 2>&1", "r"))
            try #require(pclose(pipe) == 0)
            certificate = try read(file)
            self.key = try read(key)
        }
    }

    private func status(_ url: String, ca: String?) throws -> Int {
        try HTTPClient(ca: ca, timeoutMilliseconds: 5000).request("GET", url, headers: [], body: nil)
            .status
    }

    @Test(arguments: ["-newkey ec -pkeyopt ec_paramgen_curve:prime256v1", "-newkey rsa:2048"])
    func `requests pass over TLS to those who trust the certificate`(_ options: String) throws {
        let identity = try Identity(options: options)
        let server = try AdminServer(
            host: "localhost",
            port: 0,
            tls: (identity.certificate, identity.key)
        ) { _ in
            AdminResponse(status: 200)
        }
        #expect(try status("https://localhost:\(server.port)/", ca: identity.file) == 200)

        let stranger = #expect(throws: HTTPFailure.self) {
            try status("https://localhost:\(server.port)/", ca: nil)
        }
        #expect(stranger?.kind == .tls)
        let plain = #expect(throws: HTTPFailure.self) {
            try status("http://localhost:\(server.port)/", ca: nil)
        }
        #expect(plain?.kind == .protocol)
    }

    @Test func `a server without HTTP/2 is no gateway for a provider`() throws {
        let identity = try Identity(options: "-newkey rsa:2048")
        let server = try AdminServer(host: "localhost", port: 0, tls: (identity.certificate, identity.key)) { _ in
            AdminResponse(status: 200)
        }
        let client = ProviderClient(url: "https://localhost:\(server.port)", ca: identity.file) { nil }
        let failure = #expect(throws: HTTPFailure.self) {
            try client.push(OutgoingPush(token: "a", topic: "t", payload: []))
        }
        #expect(failure?.kind == .protocol)
        #expect(failure?.description.hasSuffix("the server does not speak HTTP/2") == true)
    }

    @Test func `a certificate and key that do not belong together stop the start`() throws {
        let identities = try (0..<2).map { _ in try Identity(options: "-newkey rsa:2048") }
        #expect(throws: AdminError.unusableCertificate) {
            try AdminServer(
                host: "localhost",
                port: 0,
                tls: (identities[0].certificate, identities[1].key)
            ) { _ in
                AdminResponse(status: 200)
            }
        }
        #expect(throws: AdminError.unusableCertificate) {
            try AdminServer(host: "localhost", port: 0, tls: ([], [])) { _ in AdminResponse(status: 200) }
        }
    }
}

private func read(_ path: String) throws -> [UInt8] {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    return [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
        count = fread(buffer.baseAddress, 1, buffer.count, file)
    }
}
