import PushCore
import TestSupport
import Testing

@Suite struct RejectionTests {
    @Test(arguments: Rejection.allCases)
    func `the body is one JSON object and nothing else`(_ rejection: Rejection) {
        #expect(rejection.body() == Array("{\"reason\":\"\(rejection.rawValue)\"}".utf8))
    }

    @Test func `the usual body has 27 bytes`() {
        #expect(Rejection.badDeviceToken.body().count == 27)
    }

    @Test func `a dead token's body says since when, in milliseconds`() {
        let body = Rejection.unregistered.body(since: Moment(nanoseconds: 1_700_000_000_123_999_999))
        #expect(String(decoding: body, as: UTF8.self) == #"{"reason":"Unregistered","timestamp":1700000000123}"#)
    }

    /// Handling notification responses from APNs.
    @Test(arguments: [
        (400, ["BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic"]),
        (400, ["DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "PayloadEmpty"]),
        (400, ["MissingDeviceToken", "MissingTopic", "TopicDisallowed", "BadRequestPayload"]),
        (403, ["ExpiredProviderToken", "InvalidProviderToken", "MissingProviderToken"]),
        (403, ["BadEnvironmentKeyInToken", "BadEnvironmentKeyIdInToken"]),
        (404, ["BadPath"]), (405, ["MethodNotAllowed"]), (410, ["ExpiredToken", "Unregistered"]),
        (413, ["PayloadTooLarge"]), (429, ["TooManyProviderTokenUpdates", "TooManyRequests"]),
        (500, ["InternalServerError"]), (503, ["ServiceUnavailable", "Shutdown"]),
    ])
    func `each reason has its status`(_ status: Int, _ reasons: [String]) {
        for reason in reasons { #expect(Rejection(rawValue: reason)?.status == status, "\(reason)") }
    }
}
