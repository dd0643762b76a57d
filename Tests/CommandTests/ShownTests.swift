import JSON
import Testing

@testable import carillon

@Suite struct ShownTests {
    private func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8).span) }

    @Test func `a stranger's text changes no terminal`() {
        #expect(Output.harmless("a\u{1b}[31mb\r\u{9b}2J\u{7f}") == "a\u{fffd}[31mb\u{fffd}\u{fffd}2J\u{fffd}")
        #expect(Output.harmless("a\tü\nc") == "a\tü\nc")
    }

    @Test func `the status is one screen`() throws {
        let status = try json(
            """
            {"version":"1.0","environment":"development","startedAt":"2026-01-01T00:00:00.000Z","draining":false,
             "sessions":2,"queued":3,"queuedOldestSeconds":7300,"acceptedPerSecond":1.25,"deliveredPerSecond":0,
             "deliverySecondsP50":0.0012,"deliverySecondsP99":null,"storeLagSeconds":0.01,
             "certificateSecondsLeft":864000,"authoritySecondsLeft":8640000}
            """
        )
        #expect(
            StatusCommand.screen(status, url: "http://a") == [
                "carillon 1.0 at http://a: running, development, since 2026-01-01T00:00:00.000Z",
                "",
                "  sessions           2",
                "  queued             3, oldest 2h",
                "  accepted           1.3/s",
                "  delivered          0.0/s",
                "  delivery p50, p99  1.2 ms, -",
                "  store lag          10.0 ms",
                "  certificate        10 days left, authority 100 days",
            ]
        )
    }

    @Test func `only data lines of an event stream are notifications`() throws {
        #expect(LogCommand.event(#"data: {"state":"delivered"}"#)?["state"]?.string == "delivered")
        for line in ["", ": alive", "event: notification", "id: 7", "data: nonsense"] {
            #expect(LogCommand.event(line) == nil)
        }
    }

    @Test func `a cell shows a value as people write it`() throws {
        let value = try json(#"{"a":null,"b":true,"c":["x","y"],"d":1.5,"e":"text"}"#)
        #expect(["a", "b", "c", "d", "e"].map { value[$0].flatMap(text) } == [nil, "yes", "x y", "1.5", "text"])
    }

    @Test(arguments: [
        ("*", "127.0.0.1:1"), ("::", "127.0.0.1:1"), ("::1", "[::1]:1"), ("push.example.com", "push.example.com:1"),
    ])
    func `a listener is reached where it listens`(_ host: String, _ address: String) {
        #expect(reachable(host: host, port: 1) == address)
    }

    @Test(arguments: [
        ("/a/b.conf", "/a", "b.conf"), ("b.conf", ".", "b.conf"), ("/b", "/", "b"), ("a/b/", "a", "b"),
    ])
    func `a path is its folder and its name`(_ path: String, _ directory: String, _ name: String) {
        #expect(Files.split(path) == (directory, name))
    }

    @Test func `an error for programs is one JSON object`() {
        #expect(CommandError.usage("x").exitStatus == 2)
        #expect(CommandError.failed(code: "c", message: "m").exitStatus == 1)
    }
}
