import Glibc
import JSON

/// What a command says: results to standard output, everything else to standard error.
enum Output {
    /// A line of the result, visible at once also to a program that reads it through a pipe.
    static func line(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    /// A JSON value of the result, on a line.
    static func json(_ bytes: [UInt8]) { line(String(decoding: bytes, as: UTF8.self)) }

    /// One object of the result, on a line.
    static func object(_ body: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.object(body)
        json(writer.bytes)
    }

    /// Text that is no result.
    static func note(_ text: String) {
        write(text, to: STDERR_FILENO)
    }

    /// Straight to the descriptor: no buffer holds a line back.
    private static func write(_ line: String, to descriptor: Int32) {
        // Nobody is left to tell when the reader has gone.
        try? Files.write(Array("\(harmless(line))\n".utf8), to: descriptor, name: "output")
    }

    /// The text without what would change a terminal: it may be a stranger's, as that of a push or a backup is.
    static func harmless(_ text: String) -> String {
        let isHarmless = { (scalar: Unicode.Scalar) in
            scalar == "\n" || scalar == "\t" || scalar.properties.generalCategory != .control
        }
        guard !text.unicodeScalars.allSatisfy(isHarmless) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isHarmless($0) ? $0 : "\u{fffd}" }))
    }

    /// The error that ends the program.
    static func error(_ error: CommandError, json: Bool) {
        guard json else {
            for line in error.message.split(separator: "\n") { note("carillon: \(line)") }
            return
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("error")
            writer.object { writer in
                writer.field("code", error.code)
                writer.field("message", error.message)
            }
        }
        note(String(decoding: writer.bytes, as: UTF8.self))
    }

    /// Rows under their headings, in columns.
    static func table(_ headings: [String], _ rows: [[String]]) {
        let all = [headings] + rows
        let widths = headings.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        for row in all {
            let cells = zip(row, widths).map { padded($0, to: $1 + 1) }
            var text = cells.joined(separator: " ")
            while text.hasSuffix(" ") { text.removeLast() }
            line(text)
        }
    }
}
