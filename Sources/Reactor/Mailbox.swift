import CLinux

/// The only way into a loop from another thread: values go in, the loop's poller wakes.
package final class Mailbox<Message: Sendable>: Sendable {
    private let bell: FileDescriptor
    private let waiting = Locked<[Message]>([])

    package init() throws(SystemError) {
        let flags = Int32(EFD_CLOEXEC | EFD_NONBLOCK)
        bell = FileDescriptor(owning: try attempt("eventfd") { eventfd(0, flags) })
    }

    /// Watch this for reading, then call `take`.
    package var number: Int32 { bell.number }

    /// May be called from any thread. Rings only when the box was empty, so a burst costs one system call.
    package func post(_ message: Message) {
        let wasEmpty = waiting.withLock { waiting in
            defer { waiting.append(message) }
            return waiting.isEmpty
        }
        if wasEmpty { eventfd_write(bell.number, 1) }
    }

    /// Posts all of `messages` under one lock and leaves the array empty, with its capacity, for the next turn.
    package func post(contentsOf messages: inout [Message]) {
        guard !messages.isEmpty else { return }
        let wasEmpty = waiting.withLock { waiting in
            defer { waiting.append(contentsOf: messages) }
            return waiting.isEmpty
        }
        messages.removeAll(keepingCapacity: true)
        if wasEmpty { eventfd_write(bell.number, 1) }
    }

    /// Called by the owning loop: `messages` becomes what was posted, in order, and what it held before is dropped.
    package func take(into messages: inout [Message]) {
        messages.removeAll(keepingCapacity: true)
        // The bell first: a message that comes between the two then rings again. The other way round it could be
        // left behind with the bell silenced.
        var count: eventfd_t = 0
        eventfd_read(bell.number, &count)
        waiting.withLock { swap(&$0, &messages) }
    }
}
