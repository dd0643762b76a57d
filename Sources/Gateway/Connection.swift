import PushCore
import Reactor

/// One connection of a loop, of either wire, or one that has yet to say anything.
enum Connection {
    case pending(PendingConnection)
    case provider(ProviderConnection)
    case device(DeviceConnection)

    var peer: PeerAddress {
        switch self {
        case .pending(let connection): connection.peer
        case .provider(let connection): connection.peer
        case .device(let connection): connection.peer
        }
    }

    /// Who it is for the book of addresses.
    var caller: Caller { Caller(peer, isDevice: isDevice) }

    /// Whether it got in: with an accepted Connect, or a verified token.
    var isIn: Bool {
        switch self {
        case .pending: false
        case .provider(let connection): connection.team != nil
        case .device(let connection): connection.isIn
        }
    }

    /// Whether its address counts it.
    var isCounted: Bool { if case .pending(let connection) = self { connection.isCounted } else { true } }

    /// Whether what comes next is a step of the TLS handshake, or the Connect with its signature: costly things.
    var isOpening: Bool {
        switch self {
        case .pending: true
        case .provider(let connection): !connection.stream.isEstablished
        case .device(let connection): if case .opening = connection.phase { true } else { false }
        }
    }

    /// Whether it came in by the door of devices.
    var isDevice: Bool {
        switch self {
        case .pending(let connection): connection.door == .device
        case .provider: false
        case .device: true
        }
    }

    var stream: SecureStream {
        switch self {
        case .pending(let connection): connection.stream
        case .provider(let connection): connection.stream
        case .device(let connection): connection.stream
        }
    }
}

/// The connections of one loop by token. A token names a place and how often it was used, so that an event or an
/// answer for a connection that is gone finds nobody.
struct ConnectionTable {
    private var places: [(generation: UInt32, connection: Connection?)] = []
    private var free: [UInt32] = []
    private(set) var count = 0

    /// Tokens below this are the loop's own: its mailbox and listeners.
    static let firstToken: UInt64 = 1 << 32

    /// The token the next `add` will give.
    mutating func reserve() -> UInt64 {
        if free.isEmpty {
            places.append((1, nil))
            free.append(UInt32(places.count - 1))
        }
        let place = free.removeLast()
        count += 1
        return UInt64(places[Int(place)].generation) << 32 | UInt64(place)
    }

    mutating func set(_ connection: Connection, at token: UInt64) {
        places[Int(UInt32(truncatingIfNeeded: token))].connection = connection
    }

    subscript(token: UInt64) -> Connection? {
        let place = Int(UInt32(truncatingIfNeeded: token))
        guard place < places.count, places[place].generation == UInt32(token >> 32) else { return nil }
        return places[place].connection
    }

    mutating func remove(_ token: UInt64) {
        guard self[token] != nil else { return }
        let place = Int(UInt32(truncatingIfNeeded: token))
        places[place].connection = nil
        places[place].generation &+= 1
        if places[place].generation == 0 { places[place].generation = 1 }
        free.append(UInt32(place))
        count -= 1
    }

    var all: [(token: UInt64, connection: Connection)] {
        places.indices.compactMap { index in
            places[index].connection.map { (UInt64(places[index].generation) << 32 | UInt64(index), $0) }
        }
    }
}
