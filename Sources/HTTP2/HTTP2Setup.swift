import CNGHTTP2

/// How nghttp2 is told to behave, and what it tells the peer at first.
enum HTTP2Setup {
    /// nghttp2 ends a connection whose peer exceeds an acknowledged limit, so it is told one that no peer can reach;
    /// ours refuses single streams.
    private static let streamCeiling: UInt32 = 1 << 30
    /// nghttp2 counts a CONTINUATION again for each read that cuts its header, so its limit must leave room for that.
    /// It holds for the blocks of streams that are reset or ignored; for others ours does.
    private static let continuationCeiling = 64

    /// Makes a session whose callbacks get `context`, an `HTTP2Streams`. It lives no longer than `memory`.
    static func makeSession(
        _ context: UnsafeMutableRawPointer,
        _ memory: HTTP2Memory
    ) throws(HTTP2Error) -> OpaquePointer {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        var session: OpaquePointer?
        try check(nghttp2_session_callbacks_new(&callbacks))
        defer { nghttp2_session_callbacks_del(callbacks) }
        try check(nghttp2_option_new(&options))
        defer { nghttp2_option_del(options) }
        HTTP2Callbacks.install(on: callbacks)
        // Credit is given when a body was dropped or released, not when it arrived.
        nghttp2_option_set_no_auto_window_update(options, 1)
        // Requests are judged by `HeaderRules`.
        nghttp2_option_set_no_http_messaging(options, 1)
        // With our ceiling nghttp2 would keep every closed stream.
        nghttp2_option_set_no_closed_streams(options, 1)
        // Abandoned requests are counted by us, without a clock.
        nghttp2_option_set_stream_reset_rate_limit(options, UInt64(Int64.max), 1)
        nghttp2_option_set_max_continuations(options, continuationCeiling)
        try check(memory.lend { nghttp2_session_server_new3(&session, callbacks, context, options, $0) })
        return session!
    }

    /// Queues our first SETTINGS and the connection's receive window.
    static func submitSettings(_ session: OpaquePointer, _ limits: HTTP2Limits) throws(HTTP2Error) {
        let entries = [
            entry(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096),
            entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streamCeiling),
            entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 65535),
            entry(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16384),
            entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(clamping: limits.headerListBytes)),
        ]
        try check(nghttp2_submit_settings(session, 0, entries, entries.count))
        let window = Int32(clamping: limits.bufferedBodyBytes)
        try check(nghttp2_session_set_local_window_size(session, 0, 0, window))
    }

    /// Queues SETTINGS with a stream limit, to be overwritten by the announced one.
    static func submitStreamLimit(_ session: OpaquePointer) {
        var limit = entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streamCeiling)
        nghttp2_submit_settings(session, 0, &limit, 1)
    }

    private static func entry(_ id: nghttp2_settings_id, _ value: UInt32) -> nghttp2_settings_entry {
        nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: value)
    }
}

/// nghttp2 reports failure as a negative number; here it becomes a thrown error, once.
func check(_ code: Int32) throws(HTTP2Error) {
    guard code >= 0 else { throw HTTP2Error(library: code) }
}
