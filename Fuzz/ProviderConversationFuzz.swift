import Client

/// What a server may say to the load generator's provider: it means the same however it is cut, and no request is
/// answered twice. The first byte says how long the pieces are, the second how many requests go out before each half
/// of the rest, and whether good SETTINGS stand in front.
func fuzzProviderConversation(_ input: [UInt8]) {
    guard input.count > 2 else { return }
    let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    let bytes = (input[1] & 1 == 0 ? settings : []) + input[2...]
    let halves = [Array(bytes.prefix(bytes.count / 2)), Array(bytes.dropFirst(bytes.count / 2))]
    let requests = Int(input[1] >> 1)

    let whole = outcome(of: halves, cut: .max, requests: requests)
    precondition(whole == outcome(of: halves, cut: 1 + Int(input[0]), requests: requests), "the cut changes the result")
}

/// What came of a conversation.
private struct Outcome: Equatable {
    var opened = 0
    var answers: [ProviderConversation.Answer] = []
    var output: [UInt8] = []
    var error: String?
    var isReady = false
    var tableSize = 0
}

private let requestLimit = 20

private func outcome(of halves: [[UInt8]], cut: Int, requests: Int) -> Outcome {
    guard var conversation = try? ProviderConversation(limit: requestLimit) else { fatalError("out of memory") }
    var outcome = Outcome()
    for half in halves where outcome.error == nil {
        for _ in 0..<requests where conversation.mayOpen(bodyCount: 100) {
            _ = conversation.open(outcome.opened, planned: Int64(outcome.opened), bodyCount: 100)
            outcome.opened += 1
        }
        outcome.error = feed(half, to: &conversation, &outcome.answers, cut: cut)
        check(conversation, outcome)
    }
    outcome.output = conversation.output
    outcome.isReady = conversation.isReady
    outcome.tableSize = conversation.tableSize
    return outcome
}

private func feed(
    _ bytes: [UInt8],
    to conversation: inout ProviderConversation,
    _ answers: inout [ProviderConversation.Answer],
    cut: Int
) -> String? {
    var rest = bytes[...]
    do {
        while !rest.isEmpty {
            let piece = rest.prefix(cut)
            try conversation.receive(piece.span, answers: &answers)
            rest = rest.dropFirst(piece.count)
        }
        return nil
    } catch {
        return error.description
    }
}

private func check(_ conversation: borrowing ProviderConversation, _ outcome: Outcome) {
    precondition(conversation.openCount == outcome.opened - outcome.answers.count, "a request was lost or made up")
    precondition((0...requestLimit).contains(conversation.openCount), "more requests are open than were wanted")
    precondition(Set(outcome.answers.map(\.number)).count == outcome.answers.count, "a request was answered twice")
    for answer in outcome.answers {
        precondition(answer.planned == Int64(answer.number), "an answer is for another request")
        precondition(answer.status == 0 || (200...999).contains(answer.status), "no status of an answer")
    }
    precondition((0...4096).contains(conversation.tableSize), "more table than we use")
}
