import Client
import Wire

/// What a gateway may say to our own device: it means the same however it is cut, each notification is acknowledged
/// once, and all that the device says can be read. The first byte says how long the pieces are.
func fuzzCourierConversation(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let stream = Array(input.dropFirst())
    let whole = said(to: stream, cut: .max)
    precondition(whole == said(to: stream, cut: 1 + Int(first)), "the cut changes the result")

    var decoder = FrameDecoder(frameLimit: 1 << 20)
    decoder.append(whole.answers.span)
    var acknowledged: [UInt32] = []
    do throws(WireError) {
        while let message = try decoder.next() {
            if case .notifyAck(let ack) = message, let id = ack.id { acknowledged.append(id) }
        }
    } catch {
        preconditionFailure("the device said what cannot be read")
    }
    precondition(decoder.bufferedCount == 0, "the device said half a message")
    precondition(acknowledged == whole.notifications, "not each notification is acknowledged once")
}

private struct Said: Equatable {
    var answers: [UInt8] = []
    /// The ids of what came.
    var notifications: [UInt32] = []
    var tokens: [[UInt8]] = []
    /// What ended it, if anything did.
    var end: String?
}

private func said(to stream: [UInt8], cut: Int) -> Said {
    var decoder = ServerFrameDecoder(frameLimit: 16_384)
    var conversation = CourierConversation(topics: ["a", "b"], acknowledges: true)
    var said = Said()
    var rest = stream[...]
    do throws(WireError) {
        while !rest.isEmpty {
            let piece = rest.prefix(cut)
            decoder.append(piece.span)
            while let message = try decoder.next() { take(message, &conversation, &said) }
            rest = rest.dropFirst(piece.count)
        }
    } catch {
        said.end = "\(error)"
    }
    conversation.keepAlive(intervalMinutes: 1, into: &said.answers)
    return said
}

private func take(_ message: ServerMessage, _ conversation: inout CourierConversation, _ said: inout Said) {
    switch conversation.receive(message, answers: &said.answers) {
    case .notification(let notify): said.notifications.append(notify.messageID)
    case .token(let topic, let token):
        precondition(["a", "b"].contains(topic), "a token for a topic that nobody has")
        said.tokens.append(token)
    case .topicRefused(let topic, _): precondition(["a", "b"].contains(topic), "a refusal of a topic that nobody has")
    case .nothing, .connected, .refused, .goodbye: break
    }
}
