import Testing

@testable import Client

@Suite struct ProviderClientTests {
    private func answer(_ status: Int, _ body: String, headers: [(String, String)] = []) -> PushAnswer {
        PushAnswer(HTTPReply(status: status, headers: headers, body: Array(body.utf8)))
    }

    @Test func `an accepted push has ids and no reason`() {
        let answer = answer(200, "", headers: [("apns-id", "A"), ("apns-unique-id", "u")])
        #expect(answer.apnsID == "A")
        #expect(answer.uniqueID == "u")
        #expect(answer.reason == nil)
        #expect(answer.message == "accepted")
    }

    @Test func `a dead token comes with the time of its death`() {
        let answer = answer(410, #"{"reason":"Unregistered","timestamp":1700000000123}"#)
        #expect(answer.status == 410)
        #expect(answer.timestamp == 1_700_000_000_123)
        #expect(answer.message.contains("no longer valid"))
    }

    @Test(arguments: [
        "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority",
        "BadTopic",
        "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType",
        "MissingDeviceToken",
        "MissingTopic", "PayloadEmpty", "TopicDisallowed", "BadCertificate",
        "BadCertificateEnvironment",
        "ExpiredProviderToken", "Forbidden", "InvalidProviderToken", "MissingProviderToken",
        "UnrelatedKeyIdInToken",
        "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadPath", "MethodNotAllowed",
        "ExpiredToken",
        "Unregistered", "PayloadTooLarge", "TooManyProviderTokenUpdates", "TooManyRequests",
        "InternalServerError",
        "ServiceUnavailable", "Shutdown", "BadRequestPayload",
    ])
    func `each documented reason is explained`(_ reason: String) {
        let message = answer(400, #"{"reason":"\#(reason)"}"#).message
        #expect(!message.contains(reason))
        #expect(message.contains(": "))
    }

    @Test func `an answer that is no gateway's is told as such`() {
        #expect(answer(502, "<html>").message == "status 502 without a reason: is this a push gateway?")
        #expect(answer(400, #"{"reason":"New"}"#).message.contains("New"))
    }

    @Test func `a push to nobody fails as unreachable`() {
        let client = ProviderClient(url: "https://127.0.0.1:1/", ca: nil) { "token" }
        let failure = #expect(throws: HTTPFailure.self) {
            try client.push(OutgoingPush(token: "a b", topic: "t", payload: []))
        }
        #expect(failure?.kind == .unreachable)
    }

    @Test func `a token that cannot be signed is a failure`() {
        struct NoKey: Error {}
        let client = ProviderClient(url: "https://127.0.0.1:1", ca: nil) { throw NoKey() }
        let failure = #expect(throws: HTTPFailure.self) {
            try client.push(OutgoingPush(token: "a", topic: "t", payload: []))
        }
        #expect(failure?.kind == .invalidRequest)
    }
}
