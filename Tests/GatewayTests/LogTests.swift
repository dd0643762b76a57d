import PushCore
import Reactor
import Testing

@testable import Gateway

@Suite struct LogTests {
    private let written = Locked<[String]>([])

    private func makeLog(_ level: LogLevel, at seconds: @escaping @Sendable () -> Int64 = { 1 }) -> Log {
        let written = written
        let clock: @Sendable () -> Moment = { Moment(seconds: seconds()) }
        return Log(level: level, format: .text, clock: clock) { line in
            written.withLock { $0.append(line) }
            return true
        }
    }

    @Test func `a level that changes counts for every copy`() {
        let log = makeLog(.warning)
        let copy = log
        copy.info("quiet")
        log.setLevel(.info)
        copy.info("loud", LogField("peer", "a b"))
        #expect(written.withLock { $0 } == ["1970-01-01T00:00:01.000Z info loud peer=\"a b\"\n"])
    }

    @Test func `a second has so many lines and the next has room again`() {
        let second = AtomicCell()
        let log = makeLog(.debug) { Int64(second.value) }
        for _ in 0..<Limits.logLinesPerSecond + 3 { log.info("one of many") }
        #expect(written.withLock { $0.count } == Limits.logLinesPerSecond)
        #expect(log.lost == 3)
        second.set(1)
        log.warning("the next")
        #expect(log.lost == 3 && written.withLock { $0.count } == Limits.logLinesPerSecond + 1)
    }

    @Test func `errors and what was asked for are never too many`() {
        let log = makeLog(.debug)
        for _ in 0..<Limits.logLinesPerSecond {
            log.error("someone must act")
            log.debug("someone looks")
        }
        #expect(log.lost == 0 && written.withLock { $0.count } == 2 * Limits.logLinesPerSecond)
    }

    @Test func `a line that nobody takes is counted`() {
        let log = Log(level: .info, format: .text, clock: { Moment(seconds: 1) }, write: { _ in false })
        log.info("lost")
        #expect(log.lost == 1)
    }
}
