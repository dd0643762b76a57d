/// An error code of RFC 9113 section 7. The set is open: a peer may send any number.
package struct HTTP2Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let noError = HTTP2Code(rawValue: 0)
    package static let protocolError = HTTP2Code(rawValue: 1)
    package static let internalError = HTTP2Code(rawValue: 2)
    package static let flowControl = HTTP2Code(rawValue: 3)
    package static let settingsTimeout = HTTP2Code(rawValue: 4)
    package static let streamClosed = HTTP2Code(rawValue: 5)
    package static let frameSize = HTTP2Code(rawValue: 6)
    package static let refusedStream = HTTP2Code(rawValue: 7)
    package static let cancel = HTTP2Code(rawValue: 8)
    package static let compression = HTTP2Code(rawValue: 9)
    package static let connect = HTTP2Code(rawValue: 10)
    package static let enhanceYourCalm = HTTP2Code(rawValue: 11)
    package static let inadequateSecurity = HTTP2Code(rawValue: 12)
    package static let http11Required = HTTP2Code(rawValue: 13)
}
