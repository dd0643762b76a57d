import CLinux
import Glibc

extension FileDescriptor {
    /// Reads what is there, up to `buffer.count` bytes, into the front of `buffer`. Returns how many bytes came, 0 at
    /// the end, nil when nothing is there yet.
    package func read(into buffer: inout [UInt8]) throws(SystemError) -> Int? {
        precondition(!buffer.isEmpty, "reading into nothing looks like the end")
        do {
            return try attempt("read") { Glibc.read(number, &buffer, buffer.count) }
        } catch {
            guard error.number == EAGAIN else { throw error }
            return nil
        }
    }

    /// Sends as much as the kernel takes. Returns how many bytes it took: 0 when it would block.
    package func send(_ bytes: Span<UInt8>) throws(SystemError) -> Int {
        do {
            return try attempt("send") {
                bytes.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
        } catch {
            guard error.number == EAGAIN else { throw error }
            return 0
        }
    }

    /// Sends FIN after what was sent. Reading goes on. A connection that is already gone needs none.
    package func endWriting() {
        shutdown(number, Int32(SHUT_WR))
    }

    /// Makes closing abrupt: the peer gets a reset, and the port is free at once instead of a minute later.
    package func resetOnClose() throws(SystemError) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        try attempt("setsockopt") {
            setsockopt(number, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        }
    }

    /// A new non-blocking TCP socket.
    static func streamSocket(family: Int32) throws(SystemError) -> FileDescriptor {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return FileDescriptor(owning: try attempt("socket") { socket(family, type, 0) })
    }

    /// Two non-blocking sockets that are each other's peer, without a network between them. The kernel keeps about
    /// `buffer` bytes of what one has sent and the other has not read.
    package static func pair(buffer: Int32) throws(SystemError) -> (first: Int32, second: Int32) {
        var numbers: (Int32, Int32) = (0, 0)
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        try attempt("socketpair") {
            withUnsafeMutableBytes(of: &numbers) {
                socketpair(AF_UNIX, type, 0, $0.baseAddress?.assumingMemoryBound(to: Int32.self))
            }
        }
        var size = buffer
        for number in [numbers.0, numbers.1] {
            try attempt("setsockopt") {
                setsockopt(number, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            }
        }
        return numbers
    }

    /// Sets a socket option that is a number.
    func set(_ level: Int32, _ option: Int32, _ value: Int32) throws(SystemError) {
        var value = value
        try attempt("setsockopt") {
            setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    func connect(to address: SocketAddress, before deadline: Int64) throws(SystemError) {
        do {
            try attempt("connect") { address.withPointer { Glibc.connect(number, $0, $1) } }
        } catch {
            guard error.number == EINPROGRESS else { throw error }
            try awaitConnection(before: deadline)
        }
    }

    private func awaitConnection(before deadline: Int64) throws(SystemError) {
        var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        let ready = try attempt("poll") {
            // Rounded up, so that a wait never ends just short of the deadline and counts as one that is over.
            let left = max(0, (deadline - Clock.monotonic() + 999_999) / 1_000_000)
            return poll(&request, 1, Int32(clamping: left))
        }
        guard ready > 0 else { throw SystemError(call: "connect", number: ETIMEDOUT) }
        var result: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        try attempt("getsockopt") { getsockopt(number, SOL_SOCKET, SO_ERROR, &result, &length) }
        guard result == 0 else { throw SystemError(call: "connect", number: result) }
    }
}
