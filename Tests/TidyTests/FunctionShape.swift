import Foundation

/// Where a function stands and how large it is. Computed properties count as functions.
struct FunctionShape: Equatable {
    /// The line of its `func`, `init`, `deinit`, `subscript` or `var`.
    let line: Int
    /// From that line to its closing brace.
    let lineCount: Int
    /// 0 for what is not a `func`.
    let parameterCount: Int
    /// A C callback has the parameters that C gives it.
    let takesPointers: Bool

    /// Every function with a body in `code`, which must be blanked.
    static func all(in code: String) throws -> [FunctionShape] {
        let text = code as NSString
        let start = try NSRegularExpression(pattern: #"(?<![.\w])(func|init|deinit|subscript|var)(?=[ (?<])"#)
        let units = Array(code.utf8)
        precondition(units.count == text.length, "blanking leaves ASCII alone")
        return start.matches(in: code, range: NSRange(location: 0, length: text.length)).compactMap {
            FunctionShape(units, from: $0.range.location, isFunction: text.substring(with: $0.range) == "func")
        }
    }
}

extension FunctionShape {
    private init?(_ code: [UInt8], from start: Int, isFunction: Bool) {
        guard let open = bodyStart(code, after: start), let close = closing(code, open) else { return nil }
        let signature = String(decoding: code[start..<open], as: UTF8.self)
        line = code[..<start].count { $0 == UInt8(ascii: "\n") } + 1
        lineCount = code[start..<close].count { $0 == UInt8(ascii: "\n") } + 1
        parameterCount = isFunction ? parameters(code[start..<open]) : 0
        takesPointers = signature.contains("Pointer") || signature.contains("Unsafe")
    }
}

/// The `{` of the body; nil when the declaration ends without one.
private func bodyStart(_ code: [UInt8], after start: Int) -> Int? {
    let ends = ["func", "init", "deinit", "subscript", "var", "let", "case", "struct", "class", "enum", "extension"]
    var (depth, word): (Int, [UInt8]) = (0, [])
    // The keyword itself is passed over.
    let name = code[start...].firstIndex { !isLetter($0) } ?? code.count
    for index in name..<code.count {
        switch code[index] {
        case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
        case UInt8(ascii: "{") where depth == 0: return index
        case UInt8(ascii: "}") where depth == 0: return nil
        default: break
        }
        if isLetter(code[index]) {
            word.append(code[index])
        } else {
            if depth == 0, ends.contains(String(decoding: word, as: UTF8.self)) { return nil }
            word = []
        }
    }
    return nil
}

private func closing(_ code: [UInt8], _ open: Int) -> Int? {
    var depth = 0
    for index in open..<code.count {
        if code[index] == UInt8(ascii: "{") { depth += 1 }
        if code[index] == UInt8(ascii: "}") { depth -= 1 }
        if depth == 0 { return index }
    }
    return nil
}

/// Colons one level deep in the first parentheses: each parameter has one, and nothing else there has.
private func parameters(_ signature: ArraySlice<UInt8>) -> Int {
    var (depth, count) = (0, 0)
    for unit in signature {
        switch unit {
        case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: ")"), UInt8(ascii: "]"):
            depth -= 1
            if depth == 0 { return count }
        case UInt8(ascii: ":") where depth == 1: count += 1
        default: break
        }
    }
    return count
}

private func isLetter(_ unit: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(unit | 0x20) || unit == UInt8(ascii: "_")
}
