import JSON

/// A provider: signs its token and pushes over HTTP/2. It keeps its connection and belongs to one thread.
package final class ProviderClient {
    private let url: String
    private let http: HTTPClient
    private let signToken: () throws -> String?
    /// What goes into `authorization`; signed when first needed.
    private var authorization: String??

    /// `url` is the provider listener's, as `https://127.0.0.1:8443`. `signToken` makes a provider token; nil for none.
    package init(
        url: String,
        ca: String?,
        timeoutMilliseconds: Int = 30_000,
        signToken: @escaping () throws -> String?
    ) {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.signToken = signToken
        http = HTTPClient(ca: ca, timeoutMilliseconds: timeoutMilliseconds)
        http.http2Only = true
    }

    /// Sends one push and waits for its answer. A token that has expired meanwhile is signed anew, once.
    package func push(_ notification: OutgoingPush) throws(HTTPFailure) -> PushAnswer {
        let isFresh = authorization == nil
        let answer = try send(notification)
        guard answer.reason == "ExpiredProviderToken", !isFresh else { return answer }
        authorization = nil
        return try send(notification)
    }

    private func send(_ push: OutgoingPush) throws(HTTPFailure) -> PushAnswer {
        var headers = push.headers
        if let token = try token() { headers.append(("authorization", "bearer \(token)")) }
        let target = "\(url)/3/device/\(HTTPClient.escape(push.token))"
        return PushAnswer(try http.request("POST", target, headers: headers, body: push.payload))
    }

    private func token() throws(HTTPFailure) -> String? {
        if let authorization { return authorization }
        do {
            let token = try signToken()
            authorization = .some(token)
            return token
        } catch {
            throw HTTPFailure(.invalidRequest, "the provider token cannot be signed: \(error)")
        }
    }
}

/// A push as a provider writes it. Nothing is checked: that is the gateway's part.
package struct OutgoingPush: Sendable {
    /// The device token, as it goes into the path.
    package var token: String
    /// `apns-topic`.
    package var topic: String
    /// The body.
    package var payload: [UInt8]
    /// `apns-push-type`; nil leaves it out, as with those below.
    package var pushType: String?
    /// `apns-priority`.
    package var priority: String?
    /// `apns-expiration`.
    package var expiration: String?
    /// `apns-collapse-id`.
    package var collapseID: String?
    /// `apns-id`.
    package var apnsID: String?

    package init(token: String, topic: String, payload: [UInt8]) {
        self.token = token
        self.topic = topic
        self.payload = payload
    }

    fileprivate var headers: [(String, String)] {
        let all: [(String, String?)] = [
            ("apns-topic", topic), ("apns-push-type", pushType), ("apns-priority", priority),
            ("apns-expiration", expiration), ("apns-collapse-id", collapseID), ("apns-id", apnsID),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}
