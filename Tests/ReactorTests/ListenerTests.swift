import Glibc
import Reactor
import Testing

@Suite struct ListenerTests {
    @Test func `port 0 becomes a real one`() throws {
        let listener = try Listener(host: "127.0.0.1", port: 0)
        #expect(listener.port != 0)
        #expect(try listener.accept() == nil)
    }

    @Test(arguments: ["127.0.0.1", "localhost", "*"])
    func `a connection from this machine is loopback`(_ host: String) throws {
        let listener = try Listener(host: host, port: 0)
        let target = host == "*" ? "127.0.0.1" : host
        let near = try Destination(host: target, port: listener.port).connect(timeoutMilliseconds: 5_000)
        let accepted = try acceptWaiting(listener)
        #expect(accepted.peer.isLoopback)
        #expect(near.number != accepted.descriptor.number)
    }

    @Test func `an accepted socket has the options a loop wants`() throws {
        let pair = try Loopback()
        #expect(option(pair.far.number, Int32(IPPROTO_TCP), TCP_NODELAY) != 0)
        #expect(option(pair.near.number, Int32(IPPROTO_TCP), TCP_NODELAY) != 0)
        #expect(option(pair.far.number, SOL_SOCKET, SO_KEEPALIVE) != 0)
        for number in [pair.near.number, pair.far.number] {
            #expect(fcntl(number, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    @Test func `an accepted socket finds out that its peer is gone`() throws {
        let patience = Listener.Patience(idle: 60, interval: 20, probes: 3)
        let listener = try Listener(host: "127.0.0.1", port: 0, options: Listener.Options(patience: patience))
        let near = try Destination(host: "127.0.0.1", port: listener.port).connect(timeoutMilliseconds: 5_000)
        let accepted = try acceptWaiting(listener)
        let level = Int32(IPPROTO_TCP)
        let found = [TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_USER_TIMEOUT].map {
            option(accepted.descriptor.number, level, $0)
        }
        #expect(found == [60, 20, 3, 120_000] && near.number >= 0)
    }

    @Test(arguments: ["127.0.0.1", "*"])
    func `the loops of one process share a port`(_ host: String) throws {
        let first = try Listener(host: host, port: 0, exclusiveProbe: true)
        let second = try Listener(host: host, port: first.port)
        #expect(second.port == first.port)
    }

    @Test(arguments: ["127.0.0.1", "*"])
    func `a port that another gateway shares is refused to a new one`(_ host: String) throws {
        let other = try Listener(host: host, port: 0)
        let error = #expect(throws: SystemError.self) {
            _ = try Listener(host: host, port: other.port, exclusiveProbe: true)
        }
        #expect(error?.isAddressInUse == true)
        #expect(error?.description == "bind: Address already in use")
    }

    @Test func `every address is refused while one of them is taken`() throws {
        let other = try Listener(host: "127.0.0.1", port: 0)
        #expect(throws: SystemError.self) { _ = try Listener(host: "*", port: other.port, exclusiveProbe: true) }
    }

    @Test func `a port is free again once its listener has gone`() throws {
        let port: UInt16
        do {
            let listener = try Listener(host: "127.0.0.1", port: 0)
            port = listener.port
            let near = try Destination(host: "127.0.0.1", port: port).connect(timeoutMilliseconds: 5_000)
            let far = try acceptWaiting(listener).takeDescriptor()
            // The listening side closes first, so that TIME_WAIT is on its port.
            far.endWriting()
            #expect(try readAll(near, count: 1) == [])
        }
        let again = try Listener(host: "127.0.0.1", port: port, exclusiveProbe: true)
        #expect(again.port == port)
    }

    @Test func `a name that does not exist is named as such`() {
        let error = #expect(throws: SystemError.self) { _ = try Listener(host: "not an address", port: 0) }
        #expect(error?.description.hasPrefix("getaddrinfo: ") == true)
        #expect((error?.number ?? 0) < 0)
    }

    @Test func `an address of another machine is refused`() {
        let error = #expect(throws: SystemError.self) { _ = try Listener(host: "192.0.2.1", port: 0) }
        #expect(error?.number == EADDRNOTAVAIL)
    }

    @Test func `a peer that has gone before it is accepted does no harm`() throws {
        let listener = try Listener(host: "127.0.0.1", port: 0)
        do {
            let near = try Destination(host: "127.0.0.1", port: listener.port).connect(timeoutMilliseconds: 5_000)
            var reset = linger(l_onoff: 1, l_linger: 0)
            setsockopt(near.number, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
        }
        let accepted = try acceptWaiting(listener)
        var buffer: [UInt8] = [0]
        let error = #expect(throws: SystemError.self) { try accepted.descriptor.read(into: &buffer) }
        #expect(error?.number == ECONNRESET)
    }

}

private func option(_ number: Int32, _ level: Int32, _ name: Int32) -> Int32 {
    var (value, length): (Int32, socklen_t) = (0, socklen_t(MemoryLayout<Int32>.size))
    getsockopt(number, level, name, &value, &length)
    return value
}
