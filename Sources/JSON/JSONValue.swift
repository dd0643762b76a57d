/// Any JSON value, as a tree. For small documents off the hot path; payloads are judged, not built.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// An integer above `Int64.max`; smaller ones are `integer`.
    case unsigned(UInt64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    /// The members in their order; a name may come twice.
    case object([(String, JSONValue)])

    /// Takes what `PayloadJudge` takes, and also a document that is no object.
    package init(parsing bytes: Span<UInt8>) throws(JSONError) {
        var parser = Parser()
        self = try parser.parse(bytes) { tape in
            var index = Tape.start
            return tape.value(at: &index)
        }
    }

    /// The member `name` of an object, the first if there are several; nil for any other value.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.0 == name }?.1
    }

    /// The text of a string; nil for any other value.
    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// An integer; nil for any other value, also for a fraction.
    package var int: Int? {
        guard case .integer(let number) = self else { return nil }
        return Int(number)
    }

    /// Any number as a binary64.
    package var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .number(let number): number
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// true or false; nil for any other value.
    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements of an array; nil for any other value.
    package var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members of an object in their order; nil for any other value.
    package var object: [(String, JSONValue)]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// Whether it is `null`.
    package var isNull: Bool {
        guard case .null = self else { return false }
        return true
    }

    /// Compact JSON.
    package var encoded: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }
}

// By hand, because tuples are not Equatable.
extension JSONValue: Equatable {
    package static func == (a: JSONValue, b: JSONValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.unsigned(let a), .unsigned(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a.elementsEqual(b) { $0.0 == $1.0 && $0.1 == $1.1 }
        default: false
        }
    }
}

extension JSONValue: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.value(nil)
        case .bool(let value): writer.value(value)
        case .integer(let number): writer.value(number)
        case .unsigned(let number): writer.value(number)
        case .number(let number): writer.value(number)
        case .string(let text): writer.value(text)
        case .array(let elements): writer.value(elements)
        case .object(let members): writer.object { for (name, value) in members { $0.field(name, value) } }
        }
    }
}
