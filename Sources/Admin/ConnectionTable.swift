import CMicroHTTPD
import Glibc
import Reactor

/// Who is connected, so that one that only holds its place has to give it up when somebody new comes.
///
/// Without it whoever opens as many connections as there are threads, and says nothing, keeps out the operator and
/// the health check until the silence has lasted too long.
final class ConnectionTable: Sendable {
    /// One connection and its claim to stay.
    private struct Place {
        let descriptor: CInt
        /// When it came, or was last answered, among all of them.
        var turn: UInt64
        /// It follows the log, with a token: it stays.
        var isHeld = false
        /// It was told to go, and its thread has not ended yet.
        var isLeaving = false
    }

    /// Who is there; turns rise with what was heard.
    private struct State {
        var places: [UInt: Place] = [:]
        var lastTurn: UInt64 = 0

        mutating func nextTurn() -> UInt64 {
            lastTurn += 1
            return lastTurn
        }
    }

    private let state = Locked(State())

    /// Threads. Operators, a scraper, and some that follow the log.
    static let places = 64
    /// Connections that may be open beyond `places` for the moment that those which were told to go take to do so.
    static let spares = 64
    /// Connections that may hold their place, because they follow the log: the rest are for those that ask and go.
    static let followers = 32

    /// A connection came. Past the bound, the one that was last heard of longest ago goes; never this one.
    func began(_ connection: OpaquePointer, descriptor: CInt) {
        state.withLock { state in
            let key = UInt(bitPattern: connection)
            state.places[key] = Place(descriptor: descriptor, turn: state.nextTurn())
            guard state.places.values.count(where: { !$0.isLeaving }) > Self.places else { return }
            let others = state.places.filter { $0.key != key && !$0.value.isHeld && !$0.value.isLeaving }
            guard let (victim, place) = others.min(by: { $0.value.turn < $1.value.turn }) else { return }
            state.places[victim]?.isLeaving = true
            // Its thread reads the end and closes. The lock keeps the number from being another's by now.
            shutdown(place.descriptor, CInt(SHUT_RDWR))
        }
    }

    /// A connection is about to be closed.
    func ended(_ connection: OpaquePointer) {
        state.withLock { $0.places[UInt(bitPattern: connection)] = nil }
    }

    /// A connection has sent a whole request: it counts as new again.
    func asked(_ connection: OpaquePointer) {
        state.withLock { state in
            let turn = state.nextTurn()
            state.places[UInt(bitPattern: connection)]?.turn = turn
        }
    }

    /// Lets a connection stay as long as its answer takes; false when too many do already.
    func hold(_ connection: OpaquePointer) -> Bool {
        state.withLock { state in
            guard state.places.values.count(where: \.isHeld) < Self.followers else { return false }
            state.places[UInt(bitPattern: connection)]?.isHeld = true
            return true
        }
    }

    /// Its answer has gone.
    func release(_ connection: OpaquePointer) {
        state.withLock { $0.places[UInt(bitPattern: connection)]?.isHeld = false }
    }
}
