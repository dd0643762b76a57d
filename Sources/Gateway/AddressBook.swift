import PushCore
import Reactor

/// Who comes, as far as it is judged: an address or IPv6 network, at the door of devices or at that of providers. What
/// one does at one door says nothing of its neighbour at the other.
struct Caller: Hashable {
    let network: PeerAddress
    let isDevice: Bool

    init(_ peer: PeerAddress, isDevice: Bool) {
        network = peer.network
        self.isDevice = isDevice
    }
}

/// How many connections there are over all loops, and what is known of peers by their address: how many each has, how
/// many of them are in, and how many failed. Asked before anything is spent on a connection.
final class AddressBook: Sendable {
    enum Verdict {
        case admitted
        case tooMany
        /// Too many of its connections failed.
        case dropped
    }

    /// How many there may be.
    struct Bounds {
        /// Connections in all; 0 admits nobody.
        var connections: Int
        /// Connections of one address at both doors; 0 is no limit.
        var perAddress = 0
        /// Failures of a caller before it is dropped; 0 drops nobody.
        var failures = 0
    }

    /// What an address or network has here.
    private struct Page {
        /// Connections at both doors, in or not.
        var connections = 0
        private var devices = 0
        private var providers = 0

        /// How many are in: devices with a session, or providers with a verified token.
        subscript(isDevice: Bool) -> Int {
            get { isDevice ? devices : providers }
            set { if isDevice { devices = newValue } else { providers = newValue } }
        }
    }

    private struct Pages {
        var bounds: Bounds
        var count = 0
        /// Kept in any case, for a reload may set a limit.
        var pages: [PeerAddress: Page] = [:]
        var failures: AddressFailures

        /// Connections of a caller that are in.
        func countIn(_ caller: Caller) -> Int { pages[caller.network]?[caller.isDevice] ?? 0 }

        mutating func forgetConnection(of caller: Caller) {
            let count = pages[caller.network]?.connections ?? 0
            if count > 1 { pages[caller.network]?.connections = count - 1 } else { pages[caller.network] = nil }
        }
    }

    private let pages: Locked<Pages>

    init(_ bounds: Bounds) {
        pages = Locked(Pages(bounds: bounds, failures: AddressFailures(limit: bounds.failures)))
    }

    /// Takes other bounds. Who has more connections than that keeps them.
    func setBounds(_ bounds: Bounds) {
        pages.withLock { pages in
            pages.bounds = bounds
            pages.failures.limit = bounds.failures
        }
    }

    /// Counts a new connection, whoever's it is. False if there are as many as there may be.
    func enter() -> Bool {
        pages.withLock { pages in
            guard pages.count < pages.bounds.connections else { return false }
            pages.count += 1
            return true
        }
    }

    /// Counts a connection for its address as well, unless that must wait or has as many as it may.
    func admit(_ caller: Caller, at now: Moment) -> Verdict {
        pages.withLock { pages in
            if pages.failures.refuses(caller, at: now) { return .dropped }
            let (count, limit) = (pages.pages[caller.network]?.connections ?? 0, pages.bounds.perAddress)
            guard limit == 0 || count < limit else { return .tooMany }
            pages.pages[caller.network, default: Page()].connections += 1
            return .admitted
        }
    }

    /// A connection that was admitted has no place at its door.
    func dismiss(_ caller: Caller) {
        pages.withLock { $0.forgetConnection(of: caller) }
    }

    /// A connection that entered is gone; `caller` is nil if it was not admitted, and `wasIn` if it got in.
    func leave(_ caller: Caller?, wasIn: Bool = false, at now: Moment) {
        pages.withLock { pages in
            pages.count -= 1
            guard let caller else { return }
            if wasIn {
                pages.pages[caller.network]?[caller.isDevice] -= 1
                if pages.countIn(caller) == 0 { pages.failures.depart(caller, at: now) }
            }
            pages.forgetConnection(of: caller)
        }
    }

    /// A connection did not become what it came for. True if its caller is dropped from now on.
    func failed(_ caller: Caller, at now: Moment) -> Bool {
        pages.withLock { pages in
            // Who shares its address with one that is in is not shut out for the faults of another.
            guard pages.countIn(caller) == 0 else { return false }
            return pages.failures.add(caller, at: now)
        }
    }

    /// Whether a caller's connections are refused for a while.
    func isDropped(_ caller: Caller, at now: Moment) -> Bool {
        pages.withLock { $0.failures.isDropped(caller, at: now) }
    }

    /// A device was accepted, or a provider's token verified.
    func succeeded(_ caller: Caller) {
        pages.withLock { pages in
            pages.pages[caller.network]?[caller.isDevice] += 1
            pages.failures.clear(caller)
        }
    }
}
