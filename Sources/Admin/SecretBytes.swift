import CMicroHTTPD
import Glibc

/// Bytes that may be secret: one copy, zeroed when its last owner lets go. Immutable.
package final class SecretBytes: Sendable {
    // An address, because a pointer is not Sendable.
    private let address: UInt
    /// How many there are.
    package let count: Int

    private var start: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: address) }

    /// Takes over what `bytes` hold and leaves zeroes there. Nobody else may hold that array, or a copy is zeroed.
    package convenience init(taking bytes: inout [UInt8]) {
        self.init(copying: bytes)
        bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } }
    }

    /// A copy of what need not be zeroed where it comes from.
    package init(copying bytes: [UInt8]) {
        count = bytes.count
        address = bytes.withUnsafeBytes { addressOfCopy($0) }
    }

    /// A copy of a C string.
    init(copying text: UnsafePointer<CChar>) {
        count = strlen(text)
        address = addressOfCopy(UnsafeRawBufferPointer(start: text, count: count))
    }

    deinit {
        if let start { explicit_bzero(start, count) }
        start?.deallocate()
    }

    /// What the bytes are, for the time of a call.
    package func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        let bytes = UnsafeRawBufferPointer(start: start, count: count)
        return body(bytes.assumingMemoryBound(to: UInt8.self).span)
    }

    /// An answer with this body, which owns the bytes until libmicrohttpd has sent them; nil if memory is short.
    func response() -> OpaquePointer? {
        let context = Unmanaged.passRetained(self)
        let response = MHD_create_response_from_buffer_with_free_callback_cls(
            count,
            start,
            { context in
                guard let context else { return }
                Unmanaged<SecretBytes>.fromOpaque(context).release()
            },
            context.toOpaque()
        )
        if response == nil { context.release() }
        return response
    }
}

private func addressOfCopy(_ source: UnsafeRawBufferPointer) -> UInt {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, source.count), alignment: 1)
    bytes.copyBytes(from: source)
    return UInt(bitPattern: bytes.baseAddress)
}
