import Admin
import JSON

/// One JSON object.
func json(_ fields: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.object(fields)
    return writer.bytes
}

/// The request's body as an object.
func object(_ request: AdminRequest) throws(AdminFailure) -> JSONValue {
    // Where it breaks helps nobody: the body is a line or two.
    guard let value = try? JSONValue(parsing: request.body.span), case .object = value else {
        throw .badRequest("the body must be a JSON object")
    }
    return value
}

extension JSONValue {
    /// A member that must be text.
    func text(_ name: String) throws(AdminFailure) -> String {
        guard let value = try optionalText(name) else { throw .badRequest("\(name) is missing") }
        return value
    }

    /// The member `team`, which must have the form of a team's id.
    func team() throws(AdminFailure) -> String {
        let team = try text("team")
        guard KeyID.isValid(team) else { throw .badRequest("a team id has 10 of A-Z 0-9, not '\(team)'") }
        return team
    }

    /// A member that is true or false, or left out.
    func optionalBool(_ name: String) throws(AdminFailure) -> Bool? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let bool = value.bool else { throw .badRequest("\(name) must be true or false") }
        return bool
    }

    /// A whole number that is not negative.
    func optionalCount(_ name: String) throws(AdminFailure) -> Int? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let count = value.int, count >= 0 else { throw .badRequest("\(name) must be a whole number from 0 up") }
        return count
    }

    /// A member that is text, or left out.
    func optionalText(_ name: String) throws(AdminFailure) -> String? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let text = value.string else { throw .badRequest("\(name) must be text") }
        return text
    }
}
