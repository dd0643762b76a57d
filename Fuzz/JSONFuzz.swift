import JSON

/// The judge and the tree agree on what is JSON, and what is written reads back as what was read.
func fuzzJSON(_ bytes: [UInt8]) {
    let isObject = PayloadJudge().isObject(bytes.span)
    guard let value = try? JSONValue(parsing: bytes.span) else {
        precondition(!isObject, "the judge took what has no value")
        return
    }
    precondition(isObject == (value.object != nil), "judge and value disagree")

    let encoded = value.encoded
    guard let again = try? JSONValue(parsing: encoded.span) else { preconditionFailure("what we wrote is not JSON") }
    precondition(again == value, "what we wrote is another value")
}
