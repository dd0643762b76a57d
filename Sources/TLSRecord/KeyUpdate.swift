/// The one handshake message that may come or go once a session has its own keys (RFC 8446, 4.6.3).
struct KeyUpdate {
    /// Ours: the peer need not answer.
    static let notRequested: [UInt8] = [24, 0, 0, 1, 0]

    /// How many bytes of a message have come; they can only have been the ones that a KeyUpdate begins with.
    private var count = 0

    /// Whether the rest of a message must come next.
    var isUnfinished: Bool { count > 0 }

    /// Takes the content of a handshake record. Says whether a KeyUpdate is complete, and whether it wants another.
    mutating func receive(_ content: Span<UInt8>) throws(RecordError) -> (isComplete: Bool, isRequest: Bool) {
        guard !content.isEmpty else { throw .broken(.unexpectedMessage) }
        for index in content.indices {
            let byte = content[index]
            switch count {
            case 0:
                // Tickets are the server's to send, and nothing else was agreed on.
                guard byte == Self.notRequested[0] else { throw .broken(.unexpectedMessage) }
            case 4:
                guard byte <= 1 else { throw .broken(.illegalParameter) }
                // Nothing may follow under the old keys (RFC 8446, 5.1).
                guard index == content.count - 1 else { throw .broken(.unexpectedMessage) }
                count = 0
                return (true, byte == 1)
            default:
                guard byte == Self.notRequested[count] else { throw .broken(.decodeError) }
            }
            count += 1
        }
        return (false, false)
    }
}
