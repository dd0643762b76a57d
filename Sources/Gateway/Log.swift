import JSON
package import PushCore
import Reactor

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
    private let level: AtomicCell
    private let format: LogFormat
    private let clock: @Sendable () -> Moment
    private let write: @Sendable (String) -> Bool
    private let budget = LogBudget()
    /// Lines that were not written.
    private let lostCount = AtomicCell()

    /// `write` returns false when it cannot take the line, and does not wait until it can.
    package init(
        level: LogLevel,
        format: LogFormat,
        clock: @escaping @Sendable () -> Moment,
        write: @escaping @Sendable (String) -> Bool
    ) {
        self.level = AtomicCell()
        self.level.set(level.rank)
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

    /// Logs from now on what is at least as severe, in every copy of this log.
    package func setLevel(_ level: LogLevel) { self.level.set(level.rank) }

    /// Lines that were lost since the start: more of them came than `LogBudget` allows, or than were read.
    package var lost: Int { lostCount.value }

    private func line(_ level: LogLevel, _ message: StaticString, _ fields: [LogField]) {
        guard level.rank >= self.level.value else { return }
        let now = clock()
        guard budget.admits(level, at: now), write(text(level, message, fields, timestamp(now))) else {
            return lostCount.add(1)
        }
    }

    private func text(_ level: LogLevel, _ message: StaticString, _ fields: [LogField], _ time: String) -> String {
        switch format {
        case .text:
            let facts = fields.map { " \($0.name)=\($0.value.contains(" ") ? "\"\($0.value)\"" : $0.value)" }.joined()
            return "\(time) \(level.rawValue) \(message)\(facts)\n"
        case .json:
            var writer = JSONWriter()
            writer.object { line in
                line.field("time", time)
                line.field("level", level.rawValue)
                line.field("message", "\(message)")
                for field in fields { line.field("\(field.name)", field.value) }
            }
            return String(decoding: writer.bytes, as: UTF8.self) + "\n"
        }
    }
}

/// How many lines a second may have: those that strangers can cause must not fill a disk. Errors are few and always
/// written; so is what someone asked for who looks for a fault.
final class LogBudget: Sendable {
    private let second = AtomicCell()
    private let count = AtomicCell()

    func admits(_ level: LogLevel, at now: Moment) -> Bool {
        guard level == .info || level == .warning else { return true }
        // Two threads may both begin the second: then it has some lines more.
        if second.value != Int(now.seconds) {
            second.set(Int(now.seconds))
            count.set(0)
        }
        count.add(1)
        return count.value <= Limits.logLinesPerSecond
    }
}
