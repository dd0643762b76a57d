import CNGHTTP2

/// The frame types that we look at, as the byte that stands in a frame (RFC 9113 section 6).
package enum FrameType {
    package static let data = UInt8(NGHTTP2_DATA.rawValue)
    package static let headers = UInt8(NGHTTP2_HEADERS.rawValue)
    package static let reset = UInt8(NGHTTP2_RST_STREAM.rawValue)
    package static let settings = UInt8(NGHTTP2_SETTINGS.rawValue)
    package static let goAway = UInt8(NGHTTP2_GOAWAY.rawValue)
    package static let pushPromise = UInt8(NGHTTP2_PUSH_PROMISE.rawValue)
    package static let ping = UInt8(NGHTTP2_PING.rawValue)
    package static let windowUpdate = UInt8(NGHTTP2_WINDOW_UPDATE.rawValue)
    package static let continuation = UInt8(NGHTTP2_CONTINUATION.rawValue)
}

/// The frame flags that we look at.
package enum FrameFlag {
    package static let acknowledge = UInt8(NGHTTP2_FLAG_ACK.rawValue)
    package static let endStream = UInt8(NGHTTP2_FLAG_END_STREAM.rawValue)
    package static let endHeaders = UInt8(NGHTTP2_FLAG_END_HEADERS.rawValue)
    package static let padded = UInt8(NGHTTP2_FLAG_PADDED.rawValue)
    package static let priority = UInt8(NGHTTP2_FLAG_PRIORITY.rawValue)
}
