import CLinux
import Glibc

/// An open descriptor with one owner; it closes when the owner goes.
package struct FileDescriptor: ~Copyable, Sendable {
    /// What system calls take. It must not outlive its owner.
    package let number: Int32

    package init(owning number: Int32) {
        precondition(number >= 0, "not an open descriptor")
        self.number = number
    }

    deinit { close(number) }

    /// A second number for the same open file, for an owner elsewhere; -1 when the process has no more numbers.
    package func duplicate() -> Int32 { fcntl(number, F_DUPFD_CLOEXEC, 0) }
}
