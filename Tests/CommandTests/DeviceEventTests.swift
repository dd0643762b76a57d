import JSON
import Testing

@testable import Client
@testable import carillon

@Suite struct DeviceEventTests {
    private func written(_ event: CourierEvent) -> String {
        var writer = JSONWriter()
        writer.object(event.write)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func notification(_ payload: String) -> CourierEvent {
        .notification(
            CourierNotification(
                token: "aa",
                topic: "com.example.demo",
                payload: Array(payload.utf8),
                messageID: 7,
                expiry: 100,
                timestamp: 200,
                storageFlags: 1,
                priority: 10,
                uniqueID: "00010203-0405-0607-0809-0a0b0c0d0e0f"
            )
        )
    }

    @Test func `each event is one object that names itself`() {
        #expect(written(.connected(baseToken: "aa")) == #"{"event":"connected"}"#)
        #expect(written(.token(topic: "t", token: "aa")) == #"{"event":"token","topic":"t","token":"aa"}"#)
        #expect(
            written(.refused(topic: "t", reason: "r")) == #"{"event":"token","topic":"t","token":null,"reason":"r"}"#
        )
        #expect(
            written(.disconnected(reason: "r", retrySeconds: 1.5))
                == #"{"event":"disconnected","reason":"r","retrySeconds":1.5}"#
        )
    }

    @Test func `a notification shows its payload as JSON and its id as the provider saw it`() throws {
        let value = try JSONValue(parsing: Array(written(notification(#"{"aps":{}}"#)).utf8).span)
        #expect(value["payload"] == .object([("aps", .object([]))]))
        #expect(value["uniqueID"]?.string == "00010203-0405-0607-0809-0a0b0c0d0e0f")
        #expect(value["stored"]?.bool == true)
    }

    @Test func `a payload that is no JSON comes as base64`() throws {
        let value = try JSONValue(parsing: Array(written(notification("fo")).utf8).span)
        #expect(value["payload"]?.isNull == true)
        #expect(value["payloadBase64"]?.string == "Zm8=")
    }

    @Test func `a line for people holds nothing that a terminal obeys`() {
        #expect(notification("a\u{1B}[2Jb\nc").text == "notification for com.example.demo: a [2Jb c")
    }

    @Test(arguments: [("a:1", "a"), ("[::1]:1", "::1"), ("127.0.0.1:1", "127.0.0.1")])
    func `an address is a host and a port`(_ text: String, _ host: String) throws {
        #expect(try #require(hostAndPort(text)) == (host, 1))
    }

    @Test(arguments: ["", "a", ":1", "a:", "a:0", "a:65536", "a:b"])
    func `what is no address is refused`(_ text: String) {
        #expect(hostAndPort(text) == nil)
    }

    @Test func `the doctor pushes only with a key that is good for it`() throws {
        func may(_ text: String) throws -> Bool {
            PushTarget.may(try JSONValue(parsing: Array(text.utf8).span), pushTo: "t", in: "development")
        }
        #expect(try may(#"{"environment":"all","topics":[],"revokedAt":null}"#))
        #expect(try may(#"{"environment":"development","topics":["t"],"revokedAt":null}"#))
        #expect(try !may(#"{"environment":"production","topics":[],"revokedAt":null}"#))
        #expect(try !may(#"{"environment":"all","topics":["u"],"revokedAt":null}"#))
        #expect(try !may(#"{"environment":"all","topics":[],"revokedAt":"2026-01-01T00:00:00.000Z"}"#))
    }
}
