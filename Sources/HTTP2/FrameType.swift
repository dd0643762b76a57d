import CNGHTTP2

/// The frame types that we look at, as the byte that stands in a frame.
enum FrameType {
    static let data = UInt8(NGHTTP2_DATA.rawValue)
    static let headers = UInt8(NGHTTP2_HEADERS.rawValue)
    static let reset = UInt8(NGHTTP2_RST_STREAM.rawValue)
    static let settings = UInt8(NGHTTP2_SETTINGS.rawValue)
    static let goAway = UInt8(NGHTTP2_GOAWAY.rawValue)
    static let windowUpdate = UInt8(NGHTTP2_WINDOW_UPDATE.rawValue)
    static let continuation = UInt8(NGHTTP2_CONTINUATION.rawValue)
}

/// The frame flags that we look at.
enum FrameFlag {
    static let acknowledge = UInt8(NGHTTP2_FLAG_ACK.rawValue)
    static let endStream = UInt8(NGHTTP2_FLAG_END_STREAM.rawValue)
}
