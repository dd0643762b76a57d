import PushCore
import Reactor

/// The connections at one door of a loop that are not in yet. A pure value: it says who may go on and who makes way.
///
/// A connection is silent, or it waits for a place, or it has a place and is in its handshake. Only those that have
/// said something get a place, so that silence keeps nobody out (docs/decisions/0020-doors.md).
struct Doorway {
    /// A connection that has said nothing.
    private struct Silent {
        let network: PeerAddress
        let since: Moment
    }

    var placeLimit: Int
    private var silent: [UInt64: Silent] = [:]
    private var silentByNetwork: [PeerAddress: Int] = [:]
    private var silentLine = TokenLine()
    private var waiting = TokenLine()
    /// Handshakes, each with the time at which it was last heard.
    private var places: [UInt64: Moment] = [:]

    init(placeLimit: Int) { self.placeLimit = placeLimit }

    /// Handshakes in progress.
    var placeCount: Int { places.count }

    /// Those that have said nothing, or wait.
    var count: Int { silent.count + waiting.count }

    func silentCount(of network: PeerAddress) -> Int { silentByNetwork[network, default: 0] }

    /// One has come, or has TLS and not said what it wants.
    mutating func arrive(_ token: UInt64, from network: PeerAddress, at now: Moment) {
        guard silent.updateValue(Silent(network: network, since: now), forKey: token) == nil else { return }
        silentByNetwork[network, default: 0] += 1
        silentLine.add(token)
    }

    /// A connection has something to say. True if it has a place for its handshake; otherwise it waits for one.
    mutating func speak(_ token: UInt64, at now: Moment) -> Bool {
        if places[token] != nil { return true }
        forgetSilence(of: token)
        guard places.count < placeLimit else {
            waiting.add(token)
            return false
        }
        places[token] = now
        return true
    }

    /// A handshake has been heard.
    mutating func hear(_ token: UInt64, at now: Moment) {
        if places[token] != nil { places[token] = now }
    }

    /// One is in, or gone.
    mutating func leave(_ token: UInt64) {
        forgetSilence(of: token)
        waiting.remove(token)
        places[token] = nil
    }

    func hasPlace(_ token: UInt64) -> Bool { places[token] != nil }

    /// Gives a free place to whoever has waited longest.
    mutating func next(at now: Moment) -> UInt64? {
        guard places.count < placeLimit, let token = waiting.first() else { return nil }
        waiting.remove(token)
        places[token] = now
        return token
    }

    /// Whoever has been silent longest, of a network or of all, if that is long enough to make way.
    mutating func silentTooLong(of network: PeerAddress? = nil, at now: Moment) -> UInt64? {
        let oldest =
            network.map { network in silentLine.first { silent[$0]?.network == network } } ?? silentLine.first()
        guard let oldest, let state = silent[oldest], now - state.since >= Limits.silence else { return nil }
        return oldest
    }

    /// Handshakes that stand still, as many as there are others who wait.
    func stalled(at now: Moment) -> [UInt64] {
        guard waiting.count > 0 else { return [] }
        let still = places.filter { now - $0.value >= Limits.stalledHandshake }
        return still.sorted { $0.value < $1.value }.prefix(waiting.count).map(\.key)
    }

    private mutating func forgetSilence(of token: UInt64) {
        guard let state = silent.removeValue(forKey: token) else { return }
        silentLine.remove(token)
        let others = silentCount(of: state.network) - 1
        silentByNetwork[state.network] = others > 0 ? others : nil
    }
}
