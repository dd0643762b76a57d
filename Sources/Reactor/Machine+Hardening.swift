import CLinux
import Glibc

extension Machine {
    /// Opens what is closed of standard input, output and error, to nowhere. Else the next file that is opened gets
    /// the number, and what is meant for standard error is written into it: a database, or somebody's connection.
    package static func openStandardStreams() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            // The lowest free number is this one, for those below are open.
            let opened = open("/dev/null", O_RDWR)
            precondition(opened == number, "standard streams cannot be opened")
        }
    }

    /// The memory of the process is its own: no core dump, no reading by programs of the same user. Root may still look
    /// (docs/operations.md, "Run it as a service"). From now on the process may not read all of its own `/proc` either.
    package static func guardMemory() {
        // It may always be made stricter, so this cannot fail.
        carillon_forbid_dumps()
    }
}
