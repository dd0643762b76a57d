/// The words behind a benchmark's name: what is to be done, and `--name value` pairs.
package struct Options: Sendable {
    /// Words that belong to no option, in their order.
    package private(set) var words: [String] = []
    private var values: [String: String] = [:]
    private var flags: Set<String> = []

    /// Takes only options that are named here: `valued` want a value, `flags` have none.
    package init(
        _ arguments: some Sequence<String>,
        valued: Set<String>,
        flags known: Set<String> = []
    ) throws(OptionError) {
        var rest = Array(arguments)[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                words.append(word)
                continue
            }
            let name = String(word.dropFirst(2))
            if known.contains(name) {
                flags.insert(name)
            } else if valued.contains(name) {
                guard let value = rest.popFirst() else { throw OptionError("\(word) needs a value") }
                values[name] = value
            } else {
                throw OptionError("there is no option \(word)")
            }
        }
    }

    /// Whether an option without a value was given.
    package func has(_ flag: String) -> Bool { flags.contains(flag) }

    /// The value of an option; nil if it was not given.
    package func text(_ name: String) -> String? { values[name] }

    /// The value of an option that must be given.
    package func required(_ name: String) throws(OptionError) -> String {
        guard let value = values[name] else { throw OptionError("--\(name) is needed") }
        return value
    }

    /// A whole number, or `standard` if the option was not given.
    package func number(_ name: String, _ standard: Int, in range: ClosedRange<Int>) throws(OptionError) -> Int {
        guard let text = values[name] else { return standard }
        guard let number = Int(text), range.contains(number) else {
            throw OptionError("--\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

/// What is wrong with a command line.
package struct OptionError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
