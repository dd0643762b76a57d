/// Judges payloads without building anything. One per loop: it reuses its parser's memory.
package final class PayloadJudge {
    private var parser = Parser()

    package init() {}

    /// Whether `bytes` are one JSON object: UTF-8 without byte order mark, nested at most 128 deep, numbers within
    /// binary64 or 64-bit integers, no lone surrogates. Duplicate keys pass.
    package func isObject(_ bytes: Span<UInt8>) -> Bool {
        do {
            return try parser.parse(bytes) { $0.kind(at: Tape.start) == .object }
        } catch {
            return false
        }
    }
}
