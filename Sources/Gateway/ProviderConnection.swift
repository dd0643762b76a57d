import HTTP2
import PushCore
import Reactor

/// One provider's connection: TLS bytes in, HTTP/2 requests out, and what the connection is bound to.
final class ProviderConnection {
    /// A request that waits for its answer.
    struct Waiting {
        let request: HTTP2Request
        let apnsID: UUIDText
        let uniqueID: UniqueID
        let receivedAt: Moment
    }

    /// A request that waits, in parts, so that it can be taken out without a copy; without a request it is free.
    private struct Place {
        var request: HTTP2Request?
        var apnsID: UUIDText
        var uniqueID: UniqueID
        var receivedAt: Moment
        /// How often it was taken.
        var uses = 0
    }

    let token: UInt64
    let stream: SecureStream
    let http: HTTP2Server
    let peer: PeerAddress
    private var places: [Place] = []
    private var free: [Int] = []
    /// Refused before they were complete: answered once they are (docs/provider-api.md).
    var refused: [(request: HTTP2Request, rejection: Rejection)] = []
    /// Whether it has bytes for the peer; it is then among the loop's dirty connections.
    var isDirty = false
    var timer = Moment.distantFuture
    var lastHeard: Moment

    /// The last accepted authorization, compared before anything is parsed.
    var authorization: [UInt8] = []
    var verified: VerifiedToken?
    /// What the first verified token bound the connection to.
    var team: String?
    var updates: ProviderTokenUpdates
    /// The last topic that was found, and in which catalog.
    var lastTopic: (topic: Topic, catalogVersion: Int)?
    /// It came in by the channel management port, where no push path exists.
    var isForChannels = false
    /// The peer has sent FIN, or the end of TLS: it is answered what it has asked, and no more is read.
    var hasEnded = false
    /// It has TLS and has said nothing since: its loop's doorway knows it.
    var isAtDoor = false
    /// When its handshake began.
    private(set) var openedAt: Moment
    /// A drain has said goodbye; no new request is taken.
    var isLeaving = false

    init(token: UInt64, stream: SecureStream, http: HTTP2Server, peer: PeerAddress, config: Config, at now: Moment) {
        self.token = token
        self.stream = stream
        self.http = http
        self.peer = peer
        updates = ProviderTokenUpdates(limit: config.providerTokenUpdates)
        lastHeard = now
        openedAt = now
    }

    var waitingCount: Int { places.count - free.count }

    /// The clock was set back: what is timed goes on as it would have.
    func goBack(by interval: Interval) {
        timer = timer - interval
        lastHeard = lastHeard - interval
        openedAt = openedAt - interval
        for index in places.indices { places[index].receivedAt = places[index].receivedAt - interval }
    }

    /// Keeps a request until its answer comes; the place goes with the push. It also says how often it was used, so
    /// that a late answer does not meet a later request.
    func wait(_ waiting: Waiting) -> Int {
        var place = Place(
            request: waiting.request,
            apnsID: waiting.apnsID,
            uniqueID: waiting.uniqueID,
            receivedAt: waiting.receivedAt,
            uses: 1
        )
        guard let index = free.popLast() else {
            places.append(place)
            return 1 << Self.placeBits | (places.count - 1)
        }
        place.uses = places[index].uses + 1
        places[index] = place
        return place.uses << Self.placeBits | index
    }

    /// The request that waits in a place, which becomes free; nil if it was answered meanwhile.
    func take(_ place: Int) -> Waiting? {
        let index = place & (1 << Self.placeBits - 1)
        guard index < places.count, places[index].uses == place >> Self.placeBits,
            let request = places[index].request.take()
        else { return nil }
        free.append(index)
        return Waiting(
            request: request,
            apnsID: places[index].apnsID,
            uniqueID: places[index].uniqueID,
            receivedAt: places[index].receivedAt
        )
    }

    /// Places of requests that came at or before `moment`; all of them without one.
    func places(until moment: Moment? = nil) -> [Int] {
        places.indices.compactMap { index in
            guard places[index].request != nil, moment.map({ places[index].receivedAt <= $0 }) ?? true else {
                return nil
            }
            return places[index].uses << Self.placeBits | index
        }
    }

    /// Places fit in this many bits: a connection has at most 1000 streams.
    private static let placeBits = 16
}
