import CLinux
import Glibc

/// The signals that the program acts on, as a descriptor that a loop can watch.
package struct Signals: ~Copyable {
    private let descriptor: FileDescriptor

    /// What an operator asks for.
    package enum Received: Sendable {
        case stop
        case reload
    }

    /// Blocks what must not end a process that is to serve, in the calling thread and in every thread it makes from now
    /// on. Call it first in `main`. A SIGHUP waits until somebody reads it; SIGTERM and SIGINT end the process, which
    /// has begun nothing yet.
    package static func holdBack() {
        // A peer that has gone is the error of a write, not the end of the process. Nobody reads this one.
        var blocked = signalSet([SIGHUP, SIGPIPE] + meaningless)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
    }

    /// Blocks SIGTERM and SIGINT as well. Call it before the process makes a thread or opens what has to be closed in
    /// order: a thread made before would still die of them.
    package init() throws(SystemError) {
        Self.holdBack()
        var watched = signalSet([SIGTERM, SIGINT, SIGHUP])
        pthread_sigmask(SIG_BLOCK, &watched, nil)
        let flags = Int32(SFD_CLOEXEC | SFD_NONBLOCK)
        descriptor = FileDescriptor(owning: try attempt("signalfd") { signalfd(-1, &watched, flags) })
    }

    /// They end a process that does not expect them, and mean nothing here. SIGXFSZ among them: a file that may not
    /// grow is the error of a write. SIGQUIT still ends it at once, and SIGTSTP and its kin do what a terminal wants.
    private static let meaningless =
        [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT, SIGXCPU, SIGXFSZ]
        + Array(carillon_first_realtime_signal()...carillon_last_realtime_signal())

    /// Watch this for reading, then call `next` until it returns nil.
    package var number: Int32 { descriptor.number }

    /// A signal that came; nil when there is none left.
    package mutating func next() -> Received? {
        var signal = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        guard read(descriptor.number, &signal, size) == size else { return nil }
        return Int32(signal.ssi_signo) == SIGHUP ? .reload : .stop
    }
}

private func signalSet(_ signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    return set
}
