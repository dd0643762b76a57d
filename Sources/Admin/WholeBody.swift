import CMicroHTTPD
import Glibc

/// The body of an answer that is known as a whole: a copy that is zeroed once it was sent, for it may hold a key.
final class WholeBody {
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ body: [UInt8]) {
        bytes = .allocate(byteCount: body.count, alignment: 1)
        bytes.copyBytes(from: body)
    }

    deinit {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
        bytes.deallocate()
    }

    /// The answer, which owns this body until libmicrohttpd is done with it; nil if memory is short.
    func response() -> OpaquePointer? {
        let context = Unmanaged.passRetained(self)
        let response = MHD_create_response_from_buffer_with_free_callback_cls(
            bytes.count,
            bytes.baseAddress,
            { context in
                guard let context else { return }
                Unmanaged<WholeBody>.fromOpaque(context).release()
            },
            context.toOpaque()
        )
        if response == nil { context.release() }
        return response
    }
}
