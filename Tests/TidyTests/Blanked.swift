/// Swift source with everything between quotes, in comments and in backticks turned into spaces. Line breaks stay, so
/// lines keep their numbers; a string's interpolations go with it. What is left is ASCII.
func blanked(_ source: [UInt8]) -> [UInt8] {
    var blanking = Blanking(source: source)
    while blanking.position < source.count { blanking.step() }
    return blanking.result
}

private struct Blanking {
    let source: [UInt8]
    var result: [UInt8]
    var position = 0

    init(source: [UInt8]) {
        self.source = source
        result = source
    }

    /// Passes over one character of code, or over one whole comment, string or raw identifier.
    mutating func step() {
        if startsWith("//") {
            while position < source.count, source[position] != UInt8(ascii: "\n") { blank(1) }
        } else if startsWith("/*") {
            blockComment()
        } else if startsWith("`") {
            blank(1)
            while position < source.count, !startsWith("`") { blank(1) }
            blank(1)
        } else if let hashes = hashesBeforeQuote() {
            string(hashes: hashes)
        } else if source[position] >= 0x80 {
            blank(1)
        } else {
            position += 1
        }
    }

    /// The number of `#` before a string that starts here; nil when none does.
    private func hashesBeforeQuote() -> Int? {
        let hashes = source[position...].prefix { $0 == UInt8(ascii: "#") }.count
        let quote = position + hashes
        return quote < source.count && source[quote] == UInt8(ascii: "\"") ? hashes : nil
    }

    private mutating func blockComment() {
        var depth = 0
        repeat {
            if startsWith("/*") {
                depth += 1
                blank(2)
            } else if startsWith("*/") {
                depth -= 1
                blank(2)
            } else {
                blank(1)
            }
        } while depth > 0 && position < source.count
    }

    private mutating func string(hashes: Int) {
        let fence = String(repeating: "#", count: hashes)
        blank(hashes)
        let quotes = startsWith("\"\"\"") ? "\"\"\"" : "\""
        blank(quotes.utf8.count)
        while position < source.count, !startsWith(quotes + fence) {
            if startsWith("\\" + fence + "(") {
                blank(2 + hashes)
                interpolation()
            } else {
                blank(startsWith("\\" + fence) ? 2 + hashes : 1)
            }
        }
        blank(quotes.utf8.count + hashes)
    }

    /// From after its `(` to its `)`, which may hold strings of its own.
    private mutating func interpolation() {
        var depth = 1
        while depth > 0 && position < source.count {
            let start = position
            switch source[position] {
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"): depth -= 1
            default: break
            }
            step()
            position = start + blankBack(from: start)
        }
    }

    /// Blanks what `step` just passed over, and returns how much that was.
    private mutating func blankBack(from start: Int) -> Int {
        let count = position - start
        position = start
        blank(count)
        return count
    }

    private mutating func blank(_ count: Int) {
        for index in position..<min(position + count, source.count) where source[index] != UInt8(ascii: "\n") {
            result[index] = UInt8(ascii: " ")
        }
        position = min(position + count, source.count)
    }

    private func startsWith(_ text: String) -> Bool { source[position...].starts(with: text.utf8) }
}
