import JSON
package import PushCore

/// One fact of a log line.
package struct LogField: Sendable {
    /// The same wherever the same fact is told.
    package let name: StaticString
    /// No token, key or payload.
    package let value: String

    package init(_ name: StaticString, _ value: some CustomStringConvertible & Sendable) {
        self.name = name
        self.value = value.description
    }
}

/// Lines of a constant message and fields. Facts are in fields, so that a search for the message finds all of them.
package struct Log: Sendable {
    private let level: LogLevel
    private let format: LogFormat
    private let clock: @Sendable () -> Moment
    private let write: @Sendable (String) -> Void

    package init(
        level: LogLevel,
        format: LogFormat,
        clock: @escaping @Sendable () -> Moment,
        write: @escaping @Sendable (String) -> Void
    ) {
        self.level = level
        self.format = format
        self.clock = clock
        self.write = write
    }

    /// What helps to find a fault; silent unless asked for.
    package func debug(_ message: StaticString, _ fields: LogField...) { line(.debug, message, fields) }
    /// Starts, stops and refusals.
    package func info(_ message: StaticString, _ fields: LogField...) { line(.info, message, fields) }
    /// The gateway coped.
    package func warning(_ message: StaticString, _ fields: LogField...) { line(.warning, message, fields) }
    /// Someone must act.
    package func error(_ message: StaticString, _ fields: LogField...) { line(.error, message, fields) }

    private func line(_ level: LogLevel, _ message: StaticString, _ fields: [LogField]) {
        guard level >= self.level else { return }
        let time = timestamp(clock())
        switch format {
        case .text:
            let facts = fields.map { " \($0.name)=\($0.value.contains(" ") ? "\"\($0.value)\"" : $0.value)" }.joined()
            write("\(time) \(level.rawValue) \(message)\(facts)\n")
        case .json:
            var writer = JSONWriter()
            writer.object { line in
                line.field("time", time)
                line.field("level", level.rawValue)
                line.field("message", "\(message)")
                for field in fields { line.field("\(field.name)", field.value) }
            }
            write(String(decoding: writer.bytes, as: UTF8.self) + "\n")
        }
    }
}
