import Reactor

/// SIGINT, SIGTERM or SIGHUP during a bench. They do not end it: it asks for them, so that it can tidy up.
final class BenchInterruption {
    /// Loads ask each turn, which costs a system call no more often than this.
    private static let lookNanoseconds: Int64 = 50_000_000

    private var signals: Signals
    private var hasCome = false
    private var looked: Int64 = 0

    /// Holds the signals back from here on; call it before there are other threads.
    init() throws(CommandError) {
        do throws(SystemError) {
            signals = try Signals()
        } catch {
            throw .failed(code: "signals", message: error.description)
        }
    }

    /// Whether a signal had come when it last looked.
    func isRequested() -> Bool {
        let now = Clock.monotonic()
        guard now - looked > Self.lookNanoseconds else { return hasCome }
        looked = now
        return look()
    }

    /// Whether a signal has come by now.
    func look() -> Bool {
        while signals.next() != nil { hasCome = true }
        return hasCome
    }

    /// Forgets those that came: the next one is another wish.
    func forget() { hasCome = false }
}
