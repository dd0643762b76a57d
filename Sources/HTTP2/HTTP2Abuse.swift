/// What a peer is cut off for. The first three cost it a stream, the others its connection.
package enum HTTP2Abuse: String, CaseIterable, Sendable {
    case malformedRequest = "malformed_request"
    case headerList = "header_list"
    case refusedStream = "refused_stream"
    case streamFlood = "stream_flood"
    case rapidReset = "rapid_reset"
    case continuationFlood = "continuation_flood"
    case headerBomb = "header_bomb"
    case frameFlood = "frame_flood"
    case protocolError = "protocol_error"
    case notHTTP2 = "not_http2"

    /// Whether the connection ends with it; else only a stream was reset.
    package var endsConnection: Bool {
        switch self {
        case .malformedRequest, .headerList, .refusedStream: false
        case .streamFlood, .rapidReset, .continuationFlood, .headerBomb, .frameFlood, .protocolError, .notHTTP2: true
        }
    }
}

extension HTTP2Error {
    /// What it is called when it is counted; nil if it is no fault of the peer.
    package var abuse: HTTP2Abuse? {
        switch self {
        case .notHTTP2: .notHTTP2
        case .flooded, .tooManyFrames, .broken(.enhanceYourCalm): .frameFlood
        case .tooManyContinuations: .continuationFlood
        case .headerBomb: .headerBomb
        case .tooManyAbandonedStreams: .rapidReset
        case .tooManyRefusedStreams: .streamFlood
        case .broken: .protocolError
        case .outOfMemory, .library: nil
        }
    }
}

/// How often each kind was seen since the owner last asked.
struct AbuseCounts {
    private var counts: InlineArray<10, Int> = .init(repeating: 0)
    private(set) var isEmpty = true

    mutating func add(_ abuse: HTTP2Abuse) {
        counts[Self.place(abuse)] += 1
        isEmpty = false
    }

    /// Hands over each kind that was seen with its count, and forgets them.
    mutating func take(_ onEach: (HTTP2Abuse, Int) -> Void) {
        guard !isEmpty else { return }
        for abuse in HTTP2Abuse.allCases where counts[Self.place(abuse)] > 0 {
            onEach(abuse, counts[Self.place(abuse)])
            counts[Self.place(abuse)] = 0
        }
        isEmpty = true
    }

    private static func place(_ abuse: HTTP2Abuse) -> Int {
        switch abuse {
        case .malformedRequest: 0
        case .headerList: 1
        case .refusedStream: 2
        case .streamFlood: 3
        case .rapidReset: 4
        case .continuationFlood: 5
        case .headerBomb: 6
        case .frameFlood: 7
        case .protocolError: 8
        case .notHTTP2: 9
        }
    }
}
