import Glibc
package import JSON

/// What a benchmark says to its caller.
package enum Terminal {
    /// One line on standard output.
    package static func line(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }

    /// One JSON object, on a line of its own.
    package static func object(_ members: [(String, JSONValue)]) {
        line(String(decoding: JSONValue.object(members).encoded, as: UTF8.self))
    }

    /// Ends the process: what went wrong is on standard error.
    package static func fail(_ program: String, _ error: any Error) -> Never {
        write("\(program): \(error)\n", to: STDERR_FILENO)
        exit(1)
    }

    /// Whether the other end of standard input is closed, or has written something.
    package static func inputHasEnded() -> Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) > 0
    }

    private static func write(_ text: String, to file: Int32) {
        let bytes = Array(text.utf8)
        // Whoever has closed the other end does not want to know.
        _ = Glibc.write(file, bytes, bytes.count)
    }
}
