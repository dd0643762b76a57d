import Admin
import Client
import Glibc
import Reactor
import Testing

@Suite struct AdminStreamTests {
    /// Gives the listed texts, then waits until it is cancelled.
    private final class Script: AdminStream {
        private let left: Locked<[String]>
        private let cancellations = Locked(0)
        private let isEndless: Bool

        init(_ events: [String], isEndless: Bool = false) {
            left = Locked(events.reversed())
            self.isEndless = isEndless
        }

        func next() -> [UInt8]? {
            if let event = left.withLock({ $0.popLast() }) { return Array(event.utf8) }
            guard isEndless else { return nil }
            usleep(20_000)
            return []
        }

        func cancel() { cancellations.withLock { $0 += 1 } }

        /// How often it was cancelled, once it was or ten seconds have passed.
        var cancelled: Int {
            for _ in 0..<500 where cancellations.withLock({ $0 }) == 0 { usleep(20_000) }
            return cancellations.withLock { $0 }
        }
    }

    private func server(_ script: Script) throws -> AdminServer {
        try AdminServer(host: "127.0.0.1", port: 0, tls: nil) { _ in AdminResponse(stream: script) }
    }

    private func lines(of server: AdminServer, until stop: (String) -> Bool = { _ in false }) throws
        -> [String]
    {
        var lines: [String] = []
        let url = "http://127.0.0.1:\(server.port)/"
        try HTTPClient(ca: nil, timeoutMilliseconds: 5000).stream(url, headers: []) { line in
            lines.append(line)
            return !stop(line)
        }
        return lines
    }

    @Test func `events arrive in order until the stream ends`() throws {
        let long = String(repeating: "x", count: 100_000)
        let script = Script([
            "data: 1\n\n", "", "data: 2\n\nda", "ta: 3\n\n", "data: \(long)\r\n", "no break",
        ])
        let server = try server(script)
        #expect(
            try lines(of: server)
                == ["data: 1", "", ":", "", "data: 2", "", "data: 3", "", "data: \(long)", "no break"]
        )
        #expect(script.cancelled == 1)
    }

    @Test func `a listener that leaves cancels the stream`() throws {
        let script = Script(["data: 1\n\n"], isEndless: true)
        let server = try server(script)
        #expect(try lines(of: server) { $0 == "data: 1" } == ["data: 1"])
        #expect(script.cancelled == 1)
    }

    @Test func `silence is filled with comments`() throws {
        let server = try server(Script([], isEndless: true))
        var count = 0
        let lines = try lines(of: server) { _ in
            count += 1
            return count == 6
        }
        #expect(lines == [":", "", ":", "", ":", ""])
    }

    @Test func `HEAD opens no stream`() throws {
        let script = Script([], isEndless: true)
        let server = try server(script)
        let client = HTTPClient(ca: nil, timeoutMilliseconds: 5000)
        let reply = try client.request(
            "HEAD",
            "http://127.0.0.1:\(server.port)/",
            headers: [],
            body: nil
        )
        #expect(reply.status == 200)
        #expect(reply.header("content-type") == "text/event-stream")
        #expect(script.cancelled == 1)
    }

    @Test func `a server stops although somebody listens`() throws {
        let script = Script(["data: 1\n\n"], isEndless: true)
        let server = try server(script)
        // The listener stops the server from inside, so that it is known to be connected.
        let failure = #expect(throws: HTTPFailure.self) {
            _ = try lines(of: server) { line in
                if line == "data: 1" { server.stop() }
                return false
            }
        }
        #expect(failure?.kind == .protocol)
        #expect(script.cancelled == 1)
    }

    @Test func `a refused stream tells the status and the body`() throws {
        let server = try AdminServer(host: "127.0.0.1", port: 0, tls: nil) { _ in
            AdminResponse(status: 401, body: Array("who\nare you".utf8))
        }
        let failure = #expect(throws: HTTPFailure.self) { _ = try lines(of: server) }
        #expect(failure == HTTPFailure(.status(401), "who\nare you"))
    }
}
