import CNGHTTP2

/// Joins nghttp2's callbacks to an `HTTP2Streams`, which is their context.
enum HTTP2Callbacks {
    static func install(on callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { session, head, context in
            streams(context).pointee.beginFrame(session!, head!.pointee)
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { session, frame, context in
            let isTrailer = frame!.pointee.headers.cat == NGHTTP2_HCAT_HEADERS
            return streams(context).pointee.beginHeaders(session!, head(frame).stream_id, isTrailer: isTrailer)
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            // session, frame, name, its length, value, its length, flags, context
            let (session, name, value) = ($0!, bytes($2, $3), bytes($4, $5))
            return streams($7).pointee.header(session, name, value)
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            // session, flags, stream, bytes, their count, context
            let (session, stream, chunk) = ($0!, $2, bytes($3, $4))
            return streams($5).pointee.data(session, stream, chunk)
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
            let head = head(frame)
            streams(context).pointee.frame(session!, head)
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, stream, _, context in
            streams(context).pointee.close(session!, stream)
            return 0
        }
    }

    /// Where nghttp2 gets the body of an answer; the request that holds it is open, hence alive.
    static func body(of request: HTTP2Request) -> nghttp2_data_provider {
        nghttp2_data_provider(source: nghttp2_data_source(ptr: Unmanaged.passUnretained(request).toOpaque())) {
            // session, stream, buffer, room in it, flags, source, context
            let (buffer, room, flags) = ($2!, $3, $4!)
            let request = Unmanaged<HTTP2Request>.fromOpaque($5!.pointee.ptr).takeUnretainedValue()
            guard let count = streams($6).pointee.fetch(request, into: buffer, room: room) else {
                return Int(NGHTTP2_ERR_DEFERRED.rawValue)
            }
            flags.pointee = NGHTTP2_DATA_FLAG_EOF.rawValue
            return count
        }
    }
}

/// Any non-zero number ends nghttp2's reading; this one is made for it.
let callbackFailure = NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
/// Makes nghttp2 skip the rest of a header block whose stream was reset.
let skipStream = NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue

/// The streams are in a cell that outlives nghttp2's session, so no reference is counted here.
@inline(__always)
private func streams(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<HTTP2Streams> {
    context!.assumingMemoryBound(to: HTTP2Streams.self)
}

/// The header that begins every kind of frame; reading it alone spares a copy of the union.
@inline(__always)
private func head(_ frame: UnsafePointer<nghttp2_frame>?) -> nghttp2_frame_hd {
    UnsafeRawPointer(frame!).assumingMemoryBound(to: nghttp2_frame_hd.self).pointee
}

@inline(__always)
private func bytes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: start, count: count)
}
