import PushCore
import Reactor

/// A connection that was accepted and has not begun its TLS: whoever says nothing costs no more than this.
final class PendingConnection {
    let token: UInt64
    let stream: SecureStream
    let door: LoopListener.Door
    /// Who it is: the socket's peer, until a load balancer's header says better.
    var peer: PeerAddress
    /// Takes the header a balancer sends first; nil when none is expected, or it has come.
    var proxyHeader: ProxyHeaderDecoder?
    /// Whether its address counts it.
    var isCounted = false
    /// It waits for a place, and nobody looks at its socket meanwhile.
    var isParked = false
    var timer = Moment.distantFuture

    init(token: UInt64, stream: SecureStream, door: LoopListener.Door, peer: PeerAddress) {
        self.token = token
        self.stream = stream
        self.door = door
        self.peer = peer
    }
}
