import CLinux
import Glibc

/// Writes lines to a descriptor on a thread of its own: whoever logs never waits for who reads. What a slow reader
/// leaves behind is bounded; lines beyond that are lost, which the caller is told.
package final class LineWriter: Sendable {
    private let inbox: Mailbox<LineMessage>
    private let worker: Worker
    private let waitingBytes = AtomicCell()
    private let limit: Int

    /// `descriptor` stays the caller's and open. `limit` is how many bytes may wait.
    package init(to descriptor: Int32, limit: Int) throws(SystemError) {
        self.limit = limit
        inbox = try Mailbox()
        // Locked for as long as it lives, as the store's loop is.
        let loop = Locked(try LineLoop(to: descriptor, inbox, waitingBytes))
        worker = try Worker(name: "log") { loop.withLock { $0.run() } }
    }

    /// Takes a line, with its end. False if too much waits, and the line is lost.
    package func write(_ line: String) -> Bool {
        guard waitingBytes.value + line.utf8.count <= limit else { return false }
        waitingBytes.add(line.utf8.count)
        inbox.post(.line(line))
        return true
    }

    /// Ends the thread once it has written all, or leaves it to the end of the process if the reader takes too long.
    /// Lines that come after are lost.
    package func finish(milliseconds: Int) {
        let reply = Reply<Bool>()
        inbox.post(.end(reply))
        _ = reply.wait(milliseconds: milliseconds)
    }
}

/// What the writer's thread is told.
private enum LineMessage: Sendable {
    case line(String)
    case end(Reply<Bool>)
}

/// What the writer's thread does and holds.
private final class LineLoop {
    private let descriptor: Int32
    private let inbox: Mailbox<LineMessage>
    private let waitingBytes: AtomicCell
    private var poller: Poller

    init(to descriptor: Int32, _ inbox: Mailbox<LineMessage>, _ waitingBytes: AtomicCell) throws(SystemError) {
        (self.descriptor, self.inbox, self.waitingBytes) = (descriptor, inbox, waitingBytes)
        poller = try Poller(batch: 1)
        try poller.add(inbox.number, token: 0, for: .read)
    }

    func run() {
        var messages: [LineMessage] = []
        while true {
            // A wait that fails is tried again, and so is the look into the box.
            _ = try? poller.wait(milliseconds: -1)
            inbox.take(into: &messages)
            for message in messages {
                switch message {
                case .line(let line):
                    writeAll(line, to: descriptor)
                    waitingBytes.add(-line.utf8.count)
                case .end(let reply): return reply.set(true)
                }
            }
        }
    }
}

/// All of it, or nothing more once the reader is gone: nobody is left to tell.
private func writeAll(_ line: String, to descriptor: Int32) {
    let bytes = Array(line.utf8)
    var done = 0
    while done < bytes.count {
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress?.advanced(by: done), $0.count - done) }
        if count < 0 {
            guard errno == EINTR || errno == EAGAIN else { return }
            waitForRoom(descriptor)
        } else {
            done += count
        }
    }
}

/// A descriptor that another program has made non-blocking is waited for here.
private func waitForRoom(_ descriptor: Int32) {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
}
