import JSON

/// What the gateway answered to a push.
package struct PushAnswer: Equatable, Sendable {
    /// The HTTP status.
    package let status: Int
    /// What the gateway calls the push; nil if it did not say.
    package let apnsID: String?
    /// What the delivery log calls it; told in development only.
    package let uniqueID: String?
    /// Why it was refused; nil for 200.
    package let reason: String?
    /// Milliseconds since 1970 at which the device token died.
    package let timestamp: Int64?

    init(_ reply: HTTPReply) {
        let body = try? JSONValue(parsing: reply.body.span)  // 200 has none, and a stranger's may be anything.
        status = reply.status
        apnsID = reply.header("apns-id")
        uniqueID = reply.header("apns-unique-id")
        reason = body?["reason"]?.string
        timestamp = body?["timestamp"]?.int.map { Int64($0) }
    }

    /// The answer in words: what was wrong and what to do.
    package var message: String {
        guard status != 200 else { return "accepted" }
        guard let reason else { return "status \(status) without a reason: is this a push gateway?" }
        return explanations[reason] ?? "refused as \(reason), a reason that this version does not know"
    }
}

/// Every documented reason of a push, as an operator would want it explained.
private let explanations: [String: String] = [
    "BadCertificate": "the client certificate is not acceptable: use one that the gateway's CA signed for providers",
    "BadCertificateEnvironment": "the client certificate is for the other environment: push to the other gateway",
    "BadCollapseId": "the collapse id is longer than 64 bytes: shorten it",
    "BadDeviceToken":
        "the device token is malformed or unknown in this environment: use the one the app got from this gateway",
    "BadEnvironmentKeyIdInToken": "the signing key is for the other environment: use another key",
    "BadEnvironmentKeyInToken": "the signing key is for the other environment: use another key",
    "BadExpirationDate": "the expiration is not a whole number of Unix seconds: send 0 or such a number",
    "BadMessageId": "the apns-id is not a UUID: send one as 8-4-4-4-12 hexadecimal digits, or none",
    "BadPath": "the path is not one of the gateway's: push to /3/device/ and the device token",
    "BadPriority": "the priority is wrong: send 10, 5 or 1, and with a background push not 10",
    "BadRequestPayload": "the payload is not a JSON object in UTF-8: check its syntax, numbers and nesting",
    "BadTopic": "the topic is malformed: send the app's bundle id, with the suffix of the push type if it has one",
    "DeviceTokenNotForTopic": "the device token was made for another topic: send the topic that the app registered",
    "DuplicateHeaders": "a header came more than once: send each one once",
    "ExpiredProviderToken": "the provider token is older than an hour: sign a new one, and check this machine's clock",
    "ExpiredToken": "the device token has expired: forget it, and do not send to it again",
    "Forbidden": "this is not allowed: check the team's rights",
    "IdleTimeout": "the connection was idle for too long: connect again",
    "InternalServerError": "the gateway failed: look at its log, and try again later",
    "InvalidProviderToken":
        "the provider token cannot be verified: check key, key id and team, and that the key is not revoked",
    "InvalidPushType": "the push type is unknown or does not go with the topic: correct it or leave it out",
    "MethodNotAllowed": "the method is wrong: push with POST",
    "MissingDeviceToken": "the path holds no device token: push to /3/device/ and the token",
    "MissingProviderToken": "there is neither a provider token nor a client certificate: sign a token with a key",
    "MissingTopic": "the topic is missing: send the app's bundle id as apns-topic",
    "PayloadEmpty": "the payload is missing: send a JSON object",
    "PayloadTooLarge": "the payload is over the limit of 4096 bytes, 5120 for voip: shorten it",
    "ServiceUnavailable": "the gateway cannot take pushes now: try again later",
    "Shutdown": "the gateway is stopping: connect again in a moment",
    "TooManyProviderTokenUpdates": "the provider token changed too often on this connection: use each for 20 minutes",
    "TooManyRequests": "too many pushes to this device token: slow down",
    "TopicDisallowed": "this key may not push to this topic: check the key's topics and the app's team",
    "UnrelatedKeyIdInToken": "the connection belongs to another key: use a connection for each key",
    "Unregistered": "the device token is no longer valid for the topic: forget it, unless the app registers again",
]
