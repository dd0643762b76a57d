import Admin
import JSON
import PushCore
import TLS

/// One JSON object.
func json(_ fields: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.object(fields)
    return writer.bytes
}

/// One JSON object with a private key in it. Nothing of the key is left behind but what is returned.
func secretJSON(_ key: PrivateKey, _ fields: (inout JSONWriter) -> Void) -> SecretBytes {
    var pem = key.pem
    defer { cleanse(&pem) }
    // What the fields take, and the key with its line ends escaped.
    var writer = JSONWriter(capacity: 64 << 10)
    writer.object { writer in
        fields(&writer)
        writer.field("privateKey", text: pem.span)
    }
    return writer.withTaken { SecretBytes(taking: &$0) }
}

/// What a member of a body must be.
enum FieldKind {
    case text
    case flag
    /// A whole number that is not negative.
    case count
    /// A list of at most `Limits.keyTopics` texts.
    case texts

    /// What is wrong with a value of the member `name`; nil when nothing is.
    fileprivate func problem(_ name: String, _ value: JSONValue) -> String? {
        switch self {
        case .text: value.string == nil ? "\(name) must be text, not \(value.described)" : nil
        case .flag: value.bool == nil ? "\(name) must be true or false, not \(value.described)" : nil
        case .count:
            value.int.map { $0 >= 0 } == true
                ? nil : "\(name) must be a whole number from 0 up, not \(value.described)"
        case .texts: problem(name, of: value)
        }
    }

    private func problem(_ name: String, of list: JSONValue) -> String? {
        guard let items = list.array else { return "\(name) must be a list of texts, not \(list.described)" }
        guard items.count <= Limits.keyTopics else { return "\(name) must have at most \(Limits.keyTopics) items" }
        let wrong = items.firstIndex { $0.string == nil }
        return wrong.map { "\(name)[\($0)] must be text, not \(items[$0].described)" }
    }
}

/// The request's body as an object that has members of these names and kinds only, each once: a misspelt `topics` must
/// not make a key for everything, nor a number in its place. A member that is null is as good as none.
func object(
    _ request: AdminRequest,
    _ fields: KeyValuePairs<String, FieldKind>
) throws(AdminFailure) -> JSONValue {
    let value: JSONValue
    do throws(JSONError) {
        value = try JSONValue(parsing: request.body.span)
    } catch {
        throw .badRequest("the body must be a JSON object, and this is no JSON: \(error)")
    }
    guard case .object(let members) = value else {
        throw .badRequest("the body must be a JSON object, not \(value.described)")
    }
    var seen: Set<String> = []
    for (name, value) in members {
        guard let field = fields.first(where: { $0.key == name }) else { throw unknownField(name, fields.map(\.key)) }
        guard seen.insert(name).inserted else { throw .badRequest("\(name) stands twice") }
        if !value.isNull, let problem = field.value.problem(name, value) { throw .badRequest(problem) }
    }
    return value
}

private func unknownField(_ name: String, _ names: [String]) -> AdminFailure {
    let shown = String(name.excerpt)
    let hint = nearest(to: shown, in: names).map { "; did you mean \($0)?" } ?? ""
    return .badRequest("unknown field '\(shown)'; there are \(names.joined(separator: ", "))\(hint)")
}

extension JSONValue {
    /// A member that must be there, and is text.
    func text(_ name: String) throws(AdminFailure) -> String {
        guard let text = self[name]?.string else { throw .badRequest("\(name) is missing; it must be text") }
        return text
    }

    /// The member `team`, which must have the form of a team's id.
    func team() throws(AdminFailure) -> String {
        let team = try text("team")
        guard KeyID.isValid(team) else { throw .badRequest("a team id has 10 of A-Z 0-9, not '\(team.excerpt)'") }
        return team
    }

    /// The texts of a list; none when it is left out.
    func texts(_ name: String) -> [String] { self[name]?.array?.compactMap(\.string) ?? [] }

    /// What kind of value it is; numbers are shown, they are short.
    fileprivate var described: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer, .unsigned, .number: String(decoding: encoded, as: UTF8.self)
        case .string: "text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
