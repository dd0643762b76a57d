import CNGHTTP2

/// Why a connection cannot go on. `collect` still yields its GOAWAY; then it is closed.
package enum HTTP2Error: Error, Equatable {
    /// The first bytes were not HTTP/2's preface.
    case notHTTP2
    /// PING or SETTINGS came faster than the answers to them could be sent.
    case flooded
    /// Ever more frames or requests that bring nothing.
    case tooManyFrames
    case tooManyContinuations
    /// A header list unpacked to far more than was announced.
    case headerBomb
    /// More requests were given up by the peer than it waited for.
    case tooManyAbandonedStreams
    /// The peer opened ever more streams beyond the limit.
    case tooManyRefusedStreams
    /// The peer broke the protocol; the code is that of the GOAWAY.
    case broken(HTTP2Code)
    case outOfMemory
    /// Any other number of the library's.
    case library(Int32)

    /// What the GOAWAY says.
    package var code: HTTP2Code {
        switch self {
        case .notHTTP2: .protocolError
        case .flooded, .tooManyFrames, .tooManyContinuations, .headerBomb, .tooManyAbandonedStreams,
            .tooManyRefusedStreams:
            .enhanceYourCalm
        case .broken(let code): code
        case .outOfMemory, .library: .internalError
        }
    }
}

extension HTTP2Error: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notHTTP2: "the peer does not speak HTTP/2"
        case .flooded: "too many PING or SETTINGS frames at once"
        case .tooManyFrames: "too many frames or requests that bring nothing"
        case .tooManyContinuations: "too many CONTINUATION frames in one header block"
        case .headerBomb: "headers that unpack to far more than was announced"
        case .tooManyAbandonedStreams: "too many streams reset before they were answered"
        case .tooManyRefusedStreams: "too many streams beyond the limit"
        case .broken(let code): "HTTP/2 connection error \(code.rawValue)"
        case .outOfMemory: "out of memory"
        case .library(let code): "nghttp2 error \(code)"
        }
    }
}

extension HTTP2Error {
    /// Translates one of nghttp2's negative numbers.
    init(library code: Int32) {
        self =
            switch code {
            case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue: .notHTTP2
            case NGHTTP2_ERR_FLOODED.rawValue: .flooded
            case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue: .tooManyContinuations
            case NGHTTP2_ERR_NOMEM.rawValue: .outOfMemory
            default: .library(code)
            }
    }
}
