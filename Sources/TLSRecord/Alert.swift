/// What an alert says (RFC 8446, 6).
package struct Alert: RawRepresentable, Equatable, Sendable {
    /// Its number on the wire.
    package let rawValue: UInt8

    /// Any number may come.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    // Those that are sent or told apart; RFC 8446 says when.
    package static let closeNotify = Alert(rawValue: 0)
    package static let unexpectedMessage = Alert(rawValue: 10)
    package static let badRecordMAC = Alert(rawValue: 20)
    package static let recordOverflow = Alert(rawValue: 22)
    package static let illegalParameter = Alert(rawValue: 47)
    package static let decodeError = Alert(rawValue: 50)
    package static let userCanceled = Alert(rawValue: 90)

    /// Level and description; only the end of a conversation is no failure.
    var message: [UInt8] { [self == .closeNotify ? 1 : 2, rawValue] }
}

/// Why the records of a session cannot go on.
package enum RecordError: Error, Equatable {
    /// The peer broke the protocol; this is what to tell it.
    case broken(Alert)
    /// The peer gave up, and said why.
    case refused(Alert)
    /// The session is over already.
    case closed
}
