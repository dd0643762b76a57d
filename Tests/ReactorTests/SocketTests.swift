import Glibc
import Reactor
import Testing

@Suite struct SocketTests {
    @Test(arguments: [1, 3, 64, 5_000])
    func `what is sent in pieces arrives whole, however it is read`(_ size: Int) throws {
        let pair = try Loopback()
        let sent = (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for start in stride(from: 0, to: sent.count, by: size) {
            let piece = sent[start..<min(start + size, sent.count)]
            #expect(try pair.far.send(piece.span) == piece.count)
        }
        #expect(try readAll(pair.near, count: sent.count, bufferCount: size) == sent)
    }

    @Test func `nothing there is nil, the end is 0`() throws {
        let pair = try Loopback()
        var buffer: [UInt8] = [0]
        #expect(try pair.near.read(into: &buffer) == nil)
        pair.far.endWriting()
        try awaitReadable(pair.near.number)
        #expect(try pair.near.read(into: &buffer) == 0)
    }

    @Test func `after the end of writing the other direction still works`() throws {
        let pair = try Loopback()
        pair.far.endWriting()
        #expect(try pair.near.send([1, 2, 3].span) == 3)
        #expect(try readAll(pair.far, count: 3) == [1, 2, 3])
    }

    @Test func `a full kernel takes 0 bytes, and more once the peer has read`() throws {
        let pair = try Loopback()
        let block = [UInt8](repeating: 7, count: 1 << 20)
        var total = 0
        while case let count = try pair.near.send(block.span), count > 0 { total += count }
        #expect(total > 0)
        #expect(try readAll(pair.far, count: total).count == total)
        #expect(try pair.near.send(block.span) > 0)
    }

    @Test func `sending to a peer that has gone is an error and no signal`() throws {
        let listener = try Listener(host: "127.0.0.1", port: 0)
        let near = try Destination(host: "127.0.0.1", port: listener.port).connect(timeoutMilliseconds: 5_000)
        do { _ = try acceptWaiting(listener) }
        var error: SystemError?
        for _ in 0..<1_000 where error == nil {
            do {
                _ = try near.send([1].span)
            } catch let failure {
                error = failure
            }
        }
        #expect(error.map { [EPIPE, ECONNRESET].contains($0.number) } == true)
    }

    @Test func `a closed port refuses a connection`() throws {
        let port = try closedPort()
        let error = #expect(throws: SystemError.self) {
            _ = try Destination(host: "127.0.0.1", port: port).connect(timeoutMilliseconds: 5_000)
        }
        #expect(error?.description == "connect: Connection refused")
    }

    @Test func `a destination can be connected to again and again, from any loopback address`() throws {
        let listener = try Listener(host: "127.0.0.1", port: 0)
        let destination = try Destination(host: "127.0.0.1", port: listener.port)
        #expect(destination.isLoopback)
        for source: UInt8? in [nil, 1, 200] {
            let near = try destination.connect(timeoutMilliseconds: 5_000, source: source)
            let far = try acceptWaiting(listener)
            #expect(far.peer.description == "127.0.0.\(source ?? 1)")
            _ = try near.send([1].span)
            #expect(try readAll(far.descriptor, count: 1) == [1])
        }
    }

    @Test func `a connection that is closed abruptly ends in a reset`() throws {
        let far = try peerOfAbruptEnd()
        try awaitReadable(far.number)
        var buffer: [UInt8] = [0]
        let error = #expect(throws: SystemError.self) { try far.read(into: &buffer) }
        #expect(error?.number == ECONNRESET)
    }

    @Test func `a connection that nobody answers times out`() throws {
        // A queue of one that is full: the kernel then drops what else would connect.
        var full = Listener.Options()
        full.backlog = 0
        let listener = try Listener(host: "127.0.0.1", port: 0, options: full)
        let first = try Destination(host: "127.0.0.1", port: listener.port).connect(timeoutMilliseconds: 5_000)
        let error = #expect(throws: SystemError.self) {
            _ = try Destination(host: "127.0.0.1", port: listener.port).connect(timeoutMilliseconds: 50)
        }
        #expect(error?.number == ETIMEDOUT)
        #expect(first.number >= 0)
    }

    private func peerOfAbruptEnd() throws -> FileDescriptor {
        let listener = try Listener(host: "127.0.0.1", port: 0)
        let near = try Destination(host: "127.0.0.1", port: listener.port).connect(timeoutMilliseconds: 5_000)
        let far = try acceptWaiting(listener).takeDescriptor()
        try near.resetOnClose()
        return far
    }

    private func closedPort() throws -> UInt16 { try Listener(host: "127.0.0.1", port: 0).port }
}
