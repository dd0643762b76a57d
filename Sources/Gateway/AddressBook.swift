import PushCore
import Reactor

/// What is known of peers by their address, or IPv6 network, over all loops: how many connections they have, and how
/// many failed. Asked before anything is spent on a connection.
final class AddressBook: Sendable {
    enum Verdict {
        case admitted
        case tooMany
        /// Too many of its connections failed.
        case dropped
    }

    private struct Pages {
        /// Connections that an address may have; 0 is no limit. They are counted in any case, for a reload may set one.
        var limit: Int
        var counts: [PeerAddress: Int] = [:]
        var failures: AddressFailures
    }

    private let pages: Locked<Pages>

    /// Of either number 0 is no limit.
    init(connections: Int, failures: Int) {
        pages = Locked(Pages(limit: connections, failures: AddressFailures(limit: failures)))
    }

    /// Takes other limits. Who has more connections than that keeps them.
    func setLimits(connections: Int, failures: Int) {
        pages.withLock { pages in
            pages.limit = connections
            pages.failures.limit = failures
        }
    }

    /// Counts a new connection, unless its address must wait or has as many as it may.
    func admit(_ peer: PeerAddress, at now: Moment) -> Verdict {
        let address = peer.network
        return pages.withLock { pages in
            if pages.failures.isDropped(address, at: now) { return .dropped }
            let count = pages.counts[address, default: 0]
            guard pages.limit == 0 || count < pages.limit else { return .tooMany }
            pages.counts[address] = count + 1
            return .admitted
        }
    }

    /// A connection that was admitted is gone.
    func left(_ peer: PeerAddress) {
        let address = peer.network
        pages.withLock { pages in
            let count = pages.counts[address, default: 0]
            pages.counts[address] = count > 1 ? count - 1 : nil
        }
    }

    /// A connection did not become what it came for. True if its address is dropped from now on.
    func failed(_ peer: PeerAddress, at now: Moment) -> Bool {
        let address = peer.network
        return pages.withLock { $0.failures.add(address, at: now) }
    }

    /// A device was accepted, or a provider's token verified.
    func succeeded(_ peer: PeerAddress) {
        let address = peer.network
        pages.withLock { $0.failures.clear(address) }
    }
}
