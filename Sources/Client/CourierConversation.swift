import PushCore
import TLS
package import Wire

/// What a device says once it is connected, and what it makes of the answers: bytes out, meaning out, no I/O.
package struct CourierConversation {
    /// What a frame of the gateway meant.
    package enum Outcome {
        case nothing
        case connected(ConnectAck)
        case refused(ConnectAck)
        case token(topic: String, token: [UInt8])
        case topicRefused(topic: String, reason: String)
        case notification(Notify)
        case goodbye(reason: String, retrySeconds: UInt32?)
    }

    private struct Topic {
        let name: String
        let hash: TopicHash
        var isRefused = false
    }

    /// What the gateway knows the device by; kept from one connection to the next.
    private(set) var baseToken: [UInt8]?
    private var topics: [Topic]
    private let acknowledges: Bool

    /// `acknowledges` says whether notifications are, which tests may forgo.
    package init(topics: [String], acknowledges: Bool) {
        self.topics = topics.map { Topic(name: $0, hash: topicHash($0)) }
        self.acknowledges = acknowledges
    }

    /// Takes one frame and appends what is to be said about it.
    package mutating func receive(_ message: ServerMessage, answers: inout [UInt8]) -> Outcome {
        switch message {
        case .connectAck(let ack):
            return receive(ack, &answers)
        case .notify(let notify):
            if acknowledges {
                DeviceMessage.notifyAck(NotifyAck(id: notify.messageID, status: 0)).encode(into: &answers)
            }
            return .notification(notify)
        case .tokenAck(let status, let token, let hash, _, let reason, _):
            return receiveToken(status == 0 ? token : nil, of: hash, reason: reason ?? "status \(status)")
        case .tokenGone(let hash, _):
            // The app needs a new one, and asking is how it gets one.
            if topics.contains(where: { $0.hash == hash }) { request(hash, &answers) }
            return .nothing
        case .goodbye(let reason, let retrySeconds, _):
            return .goodbye(reason: reason ?? "no reason given", retrySeconds: retrySeconds)
        case .noStorage, .notifyAck, .keepAliveAck, .subscribeAck, .unregisterAck, .unknown:
            return .nothing
        }
    }

    /// Appends a sign of life, and asks again for what was refused: an app may have been added since.
    package func keepAlive(intervalMinutes: Int, into output: inout [UInt8]) {
        DeviceMessage.keepAlive(intervalMinutes: intervalMinutes).encode(into: &output)
        for topic in topics where topic.isRefused { request(topic.hash, &output) }
    }

    /// The name of a topic; its hash in hexadecimal for one that this device never named.
    func name(of hash: TopicHash) -> String {
        topics.first { $0.hash == hash }?.name ?? hexadecimal(hash.bytes)
    }

    private mutating func receive(_ ack: ConnectAck, _ answers: inout [UInt8]) -> Outcome {
        guard ack.status == 0 else { return .refused(ack) }
        if !ack.token.isEmpty { baseToken = ack.token }
        DeviceMessage.setState(1).encode(into: &answers)
        for topic in topics { request(topic.hash, &answers) }
        DeviceMessage.filter(Filter(baseToken: baseToken, enabled: topics.map(\.hash))).encode(into: &answers)
        return .connected(ack)
    }

    private mutating func receiveToken(_ token: [UInt8]?, of hash: TopicHash, reason: String) -> Outcome {
        guard let index = topics.firstIndex(where: { $0.hash == hash }) else { return .nothing }
        let wasRefused = topics[index].isRefused
        topics[index].isRefused = token == nil
        if let token { return .token(topic: topics[index].name, token: token) }
        // Said once, not with each keepalive.
        return wasRefused ? .nothing : .topicRefused(topic: topics[index].name, reason: reason)
    }

    private func request(_ hash: TopicHash, _ output: inout [UInt8]) {
        DeviceMessage.tokenRequest(TokenRequest(baseToken: baseToken, topicHash: hash)).encode(into: &output)
    }
}

/// How the protocol names a topic.
func topicHash(_ topic: String) -> TopicHash {
    let name = Array(topic.utf8)
    guard let hash = TopicHash(Digest.sha1(name.span)) else { preconditionFailure("SHA-1 has 20 bytes") }
    return hash
}
