import PushCore
import Reactor

/// The connections at one door of a loop that are not in yet. A pure value: it says who may go on and who makes way.
///
/// A connection is silent, or it waits for a place, or it has a place and is in its handshake. Only those that have
/// said something get a place, so that silence keeps nobody out, and no network gets more than others go without
/// (docs/decisions/0020-doors.md).
struct Doorway {
    /// A connection that has said nothing.
    private struct Silent {
        let network: PeerAddress
        let since: Moment
    }

    /// A handshake.
    private struct Place {
        let network: PeerAddress
        let since: Moment
        /// When it was last heard.
        var heard: Moment
    }

    var placeLimit: Int
    private var silent: [UInt64: Silent] = [:]
    private var silentByNetwork: [PeerAddress: Int] = [:]
    private var silentLine = Line<UInt64>()
    private var waiting = NetworkLines()
    private var places: [UInt64: Place] = [:]
    private var placesByNetwork: [PeerAddress: Int] = [:]

    init(placeLimit: Int) { self.placeLimit = placeLimit }

    /// Handshakes in progress.
    var placeCount: Int { places.count }

    /// Those that have said nothing, or wait.
    var count: Int { silent.count + waiting.count }

    /// Those that wait for a place.
    var waitingCount: Int { waiting.count }

    func silentCount(of network: PeerAddress) -> Int { silentByNetwork[network, default: 0] }

    /// All of a network that are not in yet.
    func tokens(of network: PeerAddress) -> [UInt64] {
        let silent = silent.filter { $0.value.network == network }.keys
        let places = places.filter { $0.value.network == network }.keys
        return Array(silent) + Array(places) + waiting.tokens(of: network)
    }

    /// One has come, or has TLS and not said what it wants.
    mutating func arrive(_ token: UInt64, from network: PeerAddress, at now: Moment) {
        guard silent.updateValue(Silent(network: network, since: now), forKey: token) == nil else { return }
        silentByNetwork[network, default: 0] += 1
        silentLine.add(token)
    }

    /// A connection has something to say. True if it has a place for its handshake; otherwise it waits for one.
    mutating func speak(_ token: UInt64, from network: PeerAddress, at now: Moment) -> Bool {
        if places[token] != nil { return true }
        forgetSilence(of: token)
        guard hasRoom(for: network) else {
            waiting.add(token, of: network)
            return false
        }
        waiting.remove(token)
        begin(token, from: network, at: now)
        return true
    }

    /// A handshake has been heard.
    mutating func hear(_ token: UInt64, at now: Moment) { places[token]?.heard = now }

    /// One is in, or gone.
    mutating func leave(_ token: UInt64) {
        forgetSilence(of: token)
        waiting.remove(token)
        guard let place = places.removeValue(forKey: token) else { return }
        let others = placesByNetwork[place.network, default: 0] - 1
        placesByNetwork[place.network] = others > 0 ? others : nil
    }

    func hasPlace(_ token: UInt64) -> Bool { places[token] != nil }

    /// Gives a free place to the network that has fewest, there to whoever has waited longest.
    mutating func next(at now: Moment) -> UInt64? {
        guard places.count < placeLimit else { return nil }
        let network = waiting.next { hasRoom(for: $0) ? placesByNetwork[$0, default: 0] : nil }
        guard let network, let token = waiting.takeFirst(of: network) else { return nil }
        begin(token, from: network, at: now)
        return token
    }

    private mutating func begin(_ token: UInt64, from network: PeerAddress, at now: Moment) {
        places[token] = Place(network: network, since: now, heard: now)
        placesByNetwork[network, default: 0] += 1
    }

    /// The last quarter of the places is for others. This machine is not a stranger, and all of it has one address.
    private func hasRoom(for network: PeerAddress) -> Bool {
        let share = network.isLoopback ? placeLimit : max(1, placeLimit - placeLimit / 4)
        return places.count < placeLimit && placesByNetwork[network, default: 0] < share
    }

    /// Whoever has been silent longest, of a network or of all, if that is long enough to make way.
    mutating func silentTooLong(of network: PeerAddress? = nil, at now: Moment) -> UInt64? {
        let oldest =
            network.map { network in silentLine.first { silent[$0]?.network == network } } ?? silentLine.first()
        guard let oldest, let state = silent[oldest], now - state.since >= Limits.silence else { return nil }
        return oldest
    }

    /// Whoever came last of the network that has most waiting, if it has more than one.
    mutating func excess() -> UInt64? { waiting.newest() }

    /// Handshakes that stand still, as many as there are others who wait.
    func stalled(at now: Moment) -> [UInt64] {
        guard waiting.count > 0 else { return [] }
        let still = places.filter { now - $0.value.heard >= Limits.stalledHandshake }
        return still.sorted { $0.value.heard < $1.value.heard }.prefix(waiting.count).map(\.key)
    }

    /// The oldest handshake of the network that has most places, if it has had its time and another network, which has
    /// fewer by two at least, waits for one: with one fewer they would only change sides.
    func overlong(at now: Moment) -> UInt64? {
        guard places.count >= placeLimit,
            let poorest = waiting.next(by: { placesByNetwork[$0, default: 0] }),
            let richest = placesByNetwork.max(by: { $0.value < $1.value }),
            richest.value >= placesByNetwork[poorest, default: 0] + 2
        else { return nil }
        let oldest = places.filter { $0.value.network == richest.key }.min { $0.value.since < $1.value.since }
        guard let oldest, now - oldest.value.since >= Limits.handshakeTurn else { return nil }
        return oldest.key
    }

    private mutating func forgetSilence(of token: UInt64) {
        guard let state = silent.removeValue(forKey: token) else { return }
        silentLine.remove(token)
        let others = silentCount(of: state.network) - 1
        silentByNetwork[state.network] = others > 0 ? others : nil
    }
}
