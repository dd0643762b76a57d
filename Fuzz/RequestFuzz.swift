import PushCore

/// The header values of a push, one to a line: what is taken is within its grammar and bounds, and nothing depends on
/// what lies around a value.
func fuzzRequest(_ input: [UInt8]) {
    let (head, values) = requestHead(input)

    // A missing line is an absent header, and a value is the same wherever it lies.
    var moved = RequestHead()
    for field in RequestField.allCases {
        if let range = head[field] { moved[field] = range.lowerBound + 7..<range.upperBound + 7 }
    }
    let around = Array("1234567".utf8) + input + Array("89".utf8)

    for suffix in [nil, ".voip"] {
        let parsed = outcome { () throws(Rejection) in try PushRequest(head, input.span, topicSuffix: suffix) }
        let again = outcome { () throws(Rejection) in try PushRequest(moved, around.span, topicSuffix: suffix) }
        precondition(parsed.rejection == again.rejection, "what lies around the values changes the verdict")
        if let request = parsed.value { check(request, values) }
    }
    let target = outcome { () throws(Rejection) in try PushRequest.target(head, input.span) }
    if let target = target.value { check(target, values, input) }
    if let id = outcome({ () throws(Rejection) in try PushRequest.messageID(head, input.span) }).value, let id {
        let text = Array(id.description.utf8)
        precondition(text == values[.apnsID] && text.count { $0 == UInt8(ascii: "-") } == 4, "not a UUID")
    }
    if let topic = outcome({ () throws(Rejection) in try PushRequest.topic(head, input.span) }).value {
        precondition((1...255).contains(topic.count) && input[topic].allSatisfy { $0 > 32 && $0 < 127 }, "not a topic")
    }
}

private func check(_ request: PushRequest, _ values: [RequestField: [UInt8]]) {
    let priority = values[.priority].map { String(decoding: $0, as: UTF8.self) }
    precondition(priority.map { $0 == "\(request.priority.rawValue)" } ?? true, "another priority")
    precondition(request.type != .background || request.priority == .powerAware, "a background push that wakes")
    let type = values[.pushType].map { String(decoding: $0, as: UTF8.self) }
    precondition(request.type?.rawValue == type, "another type")
    precondition((request.collapseID?.count ?? 0) <= 64, "too long a collapse id")
    precondition((request.expiration != nil) == (values[.expiration] != nil), "an expiration comes or goes")

    let now = Moment(seconds: 1_700_000_000)
    let expires = request.expires(acceptedAt: now, maximumAge: .days(30))
    precondition(expires <= now + .days(30) && expires >= Moment(nanoseconds: 0), "kept for too long")
}

private func check(_ target: PushRequest.Target, _ values: [RequestField: [UInt8]], _ input: [UInt8]) {
    precondition(values[.method] == Array("POST".utf8), "another method")
    let path = values[.path] ?? []
    switch target {
    case .missingToken: precondition(path.count <= 10, "a token was there")
    case .badToken: precondition(path.starts(with: Array("/3/device/".utf8)), "the path has another prefix")
    case .token(let token):
        let text = String(decoding: path, as: UTF8.self).lowercased()
        precondition(text == "/3/device/" + token.hex, "the path is not its prefix and token")
    }
}

/// Each line is the value of the next field; a lone dash, or no line, leaves it out.
private func requestHead(_ input: [UInt8]) -> (RequestHead, [RequestField: [UInt8]]) {
    var head = RequestHead()
    var values: [RequestField: [UInt8]] = [:]
    var place = 0
    for field in RequestField.allCases where place < input.count {
        let end = input[place...].firstIndex(of: UInt8(ascii: "\n")) ?? input.count
        if input[place..<end] != [UInt8(ascii: "-")] {
            head[field] = place..<end
            values[field] = Array(input[place..<end])
        }
        place = end + 1
    }
    return (head, values)
}

private func outcome<Value>(_ parse: () throws(Rejection) -> Value) -> (value: Value?, rejection: Rejection?) {
    do throws(Rejection) { return (try parse(), nil) } catch { return (nil, error) }
}
