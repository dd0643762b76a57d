import PushCore
import Testing
import Wire

@testable import Client

@Suite struct CourierConversationTests {
    let app = topicHash("com.example.app")
    let base = [UInt8](repeating: 1, count: 32)
    let token = [UInt8](repeating: 2, count: 32)

    @Test func `the hash of a topic is the one that devices in the field use`() {
        #expect(hexadecimal(app.bytes) == "a003f1da17993ee51f2b3ceef6c6153afa8f3ec2")
    }

    @Test func `a device that was accepted wakes, asks for its tokens and enables its topics`() throws {
        var conversation = CourierConversation(topics: ["com.example.app", "b"], acknowledges: true)
        let said = try hear(&conversation, accepted(base))
        let expected: [DeviceMessage] = [
            .setState(1), .tokenRequest(TokenRequest(baseToken: base, topicHash: app)),
            .tokenRequest(TokenRequest(baseToken: base, topicHash: topicHash("b"))),
            .filter(Filter(baseToken: base, enabled: [app, topicHash("b")])),
        ]
        #expect(said == expected)
        #expect(conversation.baseToken == base)
    }

    @Test func `a refusal leaves the base token alone`() throws {
        var conversation = CourierConversation(topics: [], acknowledges: true)
        _ = try hear(&conversation, accepted(base))
        let refusal = ConnectAck(status: 2, token: [UInt8](repeating: 0, count: 32), serverTimeMilliseconds: 0)
        #expect(try hear(&conversation, .connectAck(refusal)) == [])
        #expect(conversation.baseToken == base)
    }

    @Test(arguments: [true, false])
    func `a notification is acknowledged by its id if acknowledging is wished`(_ acknowledges: Bool) throws {
        var conversation = CourierConversation(topics: ["com.example.app"], acknowledges: acknowledges)
        let said = try hear(&conversation, .notify(notification(id: 7)))
        #expect(said == (acknowledges ? [.notifyAck(NotifyAck(id: 7, status: 0))] : []))
    }

    @Test func `a refused topic is told once and asked for again with each sign of life`() throws {
        var conversation = CourierConversation(topics: ["com.example.app"], acknowledges: true)
        let refusal = ServerMessage.tokenAck(status: 2, token: [], topicHash: app, reason: "UnknownTopic")
        #expect(outcome(&conversation, refusal) == "topicRefused com.example.app UnknownTopic")
        #expect(outcome(&conversation, refusal) == "nothing")
        var frames: [UInt8] = []
        conversation.keepAlive(intervalMinutes: 1, into: &frames)
        #expect(try read(frames) == [.keepAlive(intervalMinutes: 1), .tokenRequest(TokenRequest(topicHash: app))])
    }

    @Test func `a topic that has its token is not asked for again`() throws {
        var conversation = CourierConversation(topics: ["com.example.app"], acknowledges: true)
        let granted = ServerMessage.tokenAck(status: 0, token: token, topicHash: app)
        #expect(outcome(&conversation, granted) == "token com.example.app \(hexadecimal(token))")
        var frames: [UInt8] = []
        conversation.keepAlive(intervalMinutes: 1, into: &frames)
        #expect(try read(frames) == [.keepAlive(intervalMinutes: 1)])
    }

    @Test func `a token that was taken away is asked for anew`() throws {
        var conversation = CourierConversation(topics: ["com.example.app"], acknowledges: true)
        let said = try hear(&conversation, .tokenGone(hash: app, token: token))
        #expect(said == [.tokenRequest(TokenRequest(topicHash: app))])
        #expect(try hear(&conversation, .tokenGone(hash: topicHash("b"), token: token)) == [])
    }

    private func accepted(_ token: [UInt8]) -> ServerMessage {
        .connectAck(ConnectAck(status: 0, token: token, serverTimeMilliseconds: 0))
    }

    private func notification(id: UInt32) -> Notify {
        Notify(
            token: token,
            topicHash: app,
            payload: [],
            messageID: id,
            expiry: 0,
            timestamp: 0,
            storageFlags: 0,
            priority: 10,
            baseToken: base
        )
    }

    private func hear(_ conversation: inout CourierConversation, _ message: ServerMessage) throws -> [DeviceMessage] {
        var answers: [UInt8] = []
        _ = conversation.receive(message, answers: &answers)
        return try read(answers)
    }

    private func outcome(_ conversation: inout CourierConversation, _ message: ServerMessage) -> String {
        var answers: [UInt8] = []
        return switch conversation.receive(message, answers: &answers) {
        case .nothing: "nothing"
        case .token(let topic, let token): "token \(topic) \(hexadecimal(token))"
        case .topicRefused(let topic, let reason): "topicRefused \(topic) \(reason)"
        case .connected, .refused, .notification, .goodbye: "something else"
        }
    }

    private func read(_ frames: [UInt8]) throws -> [DeviceMessage] {
        var decoder = FrameDecoder(frameLimit: 262_144)
        decoder.append(frames.span)
        var messages: [DeviceMessage] = []
        while let message = try decoder.next() { messages.append(message) }
        return messages
    }
}
