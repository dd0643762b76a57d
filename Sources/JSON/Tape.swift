/// A parsed document as simdjson leaves it: 64-bit words in document order, strings in a second buffer.
///
/// The format is simdjson's doc/tape.md.
///
/// It borrows the parser's memory and is never kept. The words were written by simdjson, so they are trusted.
struct Tape {
    let words: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>

    /// What a word is: its highest byte.
    enum Kind: UInt8 {
        case root = 0x72
        case object = 0x7B
        case endOfObject = 0x7D
        case array = 0x5B
        case endOfArray = 0x5D
        case string = 0x22
        case integer = 0x6C
        case unsigned = 0x75
        case double = 0x64
        case yes = 0x74
        case no = 0x66
        case null = 0x6E
    }

    /// The first word after the root, where the document's value begins.
    static let start = 1

    func kind(at index: Int) -> Kind {
        guard let kind = Kind(rawValue: UInt8(words[index] >> 56)) else {
            preconditionFailure("simdjson's tape is broken")
        }
        return kind
    }

    /// How deep containers nest: 1 for an empty object.
    var depth: Int {
        var depth = 0
        var deepest = 0
        var index = Self.start
        while true {
            switch kind(at: index) {
            case .root: return deepest
            case .object, .array:
                depth += 1
                deepest = max(deepest, depth)
            case .endOfObject, .endOfArray: depth -= 1
            case .integer, .unsigned, .double: index += 1
            case .string, .yes, .no, .null: break
            }
            index += 1
        }
    }

    /// The string at `index`: a 32-bit length, then that many bytes of UTF-8, which simdjson has checked.
    func string(at index: Int) -> String {
        let start = strings + Int(words[index] & 0x00FF_FFFF_FFFF_FFFF)
        let count = UnsafeRawPointer(start).loadUnaligned(as: UInt32.self)
        return String(decoding: UnsafeBufferPointer(start: start + 4, count: Int(count)), as: UTF8.self)
    }

    /// The value that begins at `index`; moves `index` past it.
    func value(at index: inout Int) -> JSONValue {
        defer { index += 1 }
        switch kind(at: index) {
        case .string: return .string(string(at: index))
        case .yes: return .bool(true)
        case .no: return .bool(false)
        case .null: return .null
        case .integer: return .integer(Int64(bitPattern: number(at: &index)))
        case .unsigned: return .unsigned(number(at: &index))
        case .double: return .number(Double(bitPattern: number(at: &index)))
        case .array: return .array(elements(at: &index))
        case .object: return .object(members(at: &index))
        case .root, .endOfObject, .endOfArray: preconditionFailure("simdjson's tape is broken")
        }
    }

    /// A number's bits stand in the word after its kind.
    private func number(at index: inout Int) -> UInt64 {
        index += 1
        return words[index]
    }

    private func elements(at index: inout Int) -> [JSONValue] {
        index += 1
        var elements: [JSONValue] = []
        while kind(at: index) != .endOfArray { elements.append(value(at: &index)) }
        return elements
    }

    private func members(at index: inout Int) -> [(String, JSONValue)] {
        index += 1
        var members: [(String, JSONValue)] = []
        while kind(at: index) != .endOfObject {
            let name = string(at: index)
            index += 1
            members.append((name, value(at: &index)))
        }
        return members
    }
}
