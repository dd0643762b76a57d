import Reactor

/// Connections that wait, those of each network in a line of their own: who sends many makes none but itself wait.
struct NetworkLines {
    private var lines: [PeerAddress: Line<UInt64>] = [:]
    private var networks: [UInt64: PeerAddress] = [:]
    /// The networks that have someone here, in the order of their turns.
    private var turns = Line<PeerAddress>()

    var count: Int { networks.count }

    func tokens(of network: PeerAddress) -> [UInt64] { lines[network].map { Array($0.all) } ?? [] }

    mutating func add(_ token: UInt64, of network: PeerAddress) {
        guard networks[token] == nil else { return }
        networks[token] = network
        lines[network, default: Line()].add(token)
        turns.add(network)
    }

    mutating func remove(_ token: UInt64) {
        guard let network = networks.removeValue(forKey: token) else { return }
        lines[network]?.remove(token)
        guard lines[network]?.count == 0 else { return }
        lines[network] = nil
        turns.remove(network)
    }

    /// The network whose turn it is: of those that hold least, the one that has waited longest for a turn. For one that
    /// may hold no more `held` is nil. The first that holds nothing ends the search, so however many wait, it is short.
    func next(by held: (PeerAddress) -> Int?) -> PeerAddress? {
        var best: (network: PeerAddress, held: Int)?
        let free = turns.first { network in
            guard let count = held(network) else { return false }
            if best.map({ count < $0.held }) ?? true { best = (network, count) }
            return count == 0
        }
        return free ?? best?.network
    }

    /// Takes whoever of a network has waited longest; then it is the turn of all others.
    mutating func takeFirst(of network: PeerAddress) -> UInt64? {
        guard let token = lines[network]?.first() else { return nil }
        remove(token)
        if lines[network] != nil {
            turns.remove(network)
            turns.add(network)
        }
        return token
    }

    /// Whoever came last of the network that has most here, if it has more than one. This machine is not a stranger,
    /// and all of it has one address.
    mutating func newest() -> UInt64? {
        // Each network has one here at least.
        guard count > lines.count else { return nil }
        let most = lines.lazy.filter { !$0.key.isLoopback }.max { $0.value.count < $1.value.count }
        guard let most, most.value.count > 1 else { return nil }
        return lines[most.key]?.last()
    }
}
