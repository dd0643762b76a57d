import HTTP2
import PushCore
import Reactor

/// One provider's connection: TLS bytes in, HTTP/2 requests out, and what the connection is bound to.
final class ProviderConnection {
    /// A request that waits for its answer.
    struct Waiting {
        let request: HTTP2Request
        let apnsID: [UInt8]
        /// What `apns-unique-id` says if it is accepted; empty in production.
        let uniqueID: [UInt8]
        let type: PushType?
        let receivedAt: Moment
    }

    let token: UInt64
    let stream: SecureStream
    let http: HTTP2Server
    let peer: PeerAddress
    private var places: [Waiting?] = []
    private var free: [Int] = []
    /// Whether it has bytes for the peer; it is then among the loop's dirty connections.
    var isDirty = false
    var timer = Moment.distantFuture
    var lastHeard: Moment
    let acceptedAt: Moment

    /// The last accepted authorization, compared before anything is parsed.
    var authorization: [UInt8] = []
    var verified: VerifiedToken?
    /// What the first verified token bound the connection to.
    var team: String?
    var updates: ProviderTokenUpdates
    var lastTopic: Topic?
    /// A drain has said goodbye; no new request is taken.
    var isLeaving = false

    init(token: UInt64, stream: SecureStream, http: HTTP2Server, peer: PeerAddress, config: Config, at now: Moment) {
        self.token = token
        self.stream = stream
        self.http = http
        self.peer = peer
        updates = ProviderTokenUpdates(limit: config.providerTokenUpdates)
        lastHeard = now
        acceptedAt = now
    }

    var waitingCount: Int { places.count - free.count }

    /// Keeps a request until its answer comes; the place goes with the push.
    func wait(_ waiting: Waiting) -> Int {
        if let place = free.popLast() {
            places[place] = waiting
            return place
        }
        places.append(waiting)
        return places.count - 1
    }

    /// The request that waits in a place, which becomes free; nil if it was answered meanwhile.
    func take(_ place: Int) -> Waiting? {
        guard place < places.count, let waiting = places[place] else { return nil }
        places[place] = nil
        free.append(place)
        return waiting
    }

    /// Places of requests that came before `moment`; all of them without one.
    func places(before moment: Moment? = nil) -> [Int] {
        places.indices.filter { index in
            guard let waiting = places[index] else { return false }
            return moment.map { waiting.receivedAt <= $0 } ?? true
        }
    }
}
