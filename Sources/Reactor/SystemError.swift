import CLinux
import Glibc

/// A system call that failed.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The name of the call.
    package let call: StaticString
    /// Its errno; negative for an `EAI` code of getaddrinfo.
    package let number: Int32

    package init(call: StaticString, number: Int32) {
        self.call = call
        self.number = number
    }

    package static func == (a: SystemError, b: SystemError) -> Bool {
        a.number == b.number && a.call.description == b.call.description
    }

    /// The call and the reason in the system's words: `bind: Address already in use`.
    package var description: String {
        let text = number < 0 ? gai_strerror(number) : UnsafePointer(strerror(number))
        return "\(call): \(text.map { String(cString: $0) } ?? "error \(number)")"
    }

    /// The address and port belong to another socket.
    package var isAddressInUse: Bool { number == EADDRINUSE }

    /// No descriptor or memory is left for another one: waiting may help, trying again at once does not.
    package var isOutOfResources: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(number) }
}

/// Runs a system call, again when a signal cut it short; its errno is thrown when it returns a negative number.
@discardableResult
package func attempt<Number: SignedInteger>(
    _ call: StaticString,
    _ body: () -> Number
) throws(SystemError) -> Number {
    while true {
        let result = body()
        if result >= 0 { return result }
        let number = errno
        if number != EINTR { throw SystemError(call: call, number: number) }
    }
}
