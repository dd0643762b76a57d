import PushCore

/// Connections that can go on with their handshake, in the order they asked. A turn of their loop takes a few of them,
/// when all others are served and written to.
struct HandshakeQueue {
    private var tokens: [UInt64] = []
    private var waiting: Set<UInt64> = []

    var isEmpty: Bool { tokens.isEmpty }

    /// Adds a connection, unless it waits already: its socket is ready again in each turn that does not read it.
    mutating func add(_ token: UInt64) {
        if waiting.insert(token).inserted { tokens.append(token) }
    }

    /// Takes those whose turn it is.
    mutating func take() -> [UInt64] {
        let taken = Array(tokens.prefix(Limits.handshakesPerTurn))
        tokens.removeFirst(taken.count)
        waiting.subtract(taken)
        return taken
    }
}
