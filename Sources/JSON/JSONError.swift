/// Why some bytes are not JSON that we take.
package struct JSONError: Error, Equatable, CustomStringConvertible {
    /// One sentence for people.
    package let description: String

    static let tooDeep = JSONError(description: "nested more than \(Parser.maximumDepth) deep")
}
