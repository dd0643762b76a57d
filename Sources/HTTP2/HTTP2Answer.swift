import CNGHTTP2

/// A reusable answer: `reset(status:)`, then `add`. One per loop; it allocates nothing after it was made.
package final class HTTP2Answer {
    /// The whole of the one DATA frame; without it the HEADERS frame ends the stream. At most 16384 bytes.
    package var body: [UInt8] = []
    /// Headers as nghttp2 wants them; their values lie in `values`.
    private let pairs = UnsafeMutableBufferPointer<nghttp2_nv>.allocate(capacity: headerLimit)
    private let values = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: valueLimit)
    private var pairCount = 0
    private var valueCount = 0

    /// Headers of an answer with its status: ours have three.
    private static let headerLimit = 8
    /// Bytes of all values: ours have 75.
    private static let valueLimit = 1024

    package init() {}

    deinit {
        pairs.deallocate()
        values.deallocate()
    }

    /// Forgets the last answer and begins one with a status of three digits.
    package func reset(status: Int) {
        precondition((100...999).contains(status), "a status has three digits")
        pairCount = 0
        valueCount = 0
        body = []
        let digits: InlineArray<3, UInt8> = [
            UInt8(48 + status / 100), UInt8(48 + status / 10 % 10), UInt8(48 + status % 10),
        ]
        // There are few statuses: each is worth a place in the peer's table.
        add(":status", digits.span, NGHTTP2_NV_FLAG_NONE)
    }

    /// Adds a header. Its value is taken for unique and never enters the peer's table. More headers or bytes
    /// than there is room for end the program.
    package func add(_ name: StaticString, _ value: Span<UInt8>) { add(name, value, NGHTTP2_NV_FLAG_NO_INDEX) }

    private func add(_ name: StaticString, _ value: Span<UInt8>, _ flag: nghttp2_nv_flag) {
        precondition(pairCount < pairs.count && value.count <= values.count - valueCount, "too large an answer")
        let place = values.baseAddress! + valueCount
        value.withUnsafeBytes {
            UnsafeMutableRawPointer(place).copyMemory(
                from: $0.baseAddress ?? UnsafeRawPointer(place),
                byteCount: $0.count
            )
        }
        pairs.initializeElement(
            at: pairCount,
            to: nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start),
                value: place,
                namelen: name.utf8CodeUnitCount,
                valuelen: value.count,
                flags: UInt8(flag.rawValue | NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
            )
        )
        pairCount += 1
        valueCount += value.count
    }

    /// The headers as nghttp2 wants them, until the next `reset`.
    var headers: UnsafeBufferPointer<nghttp2_nv> { UnsafeBufferPointer(rebasing: pairs[..<pairCount]) }
}
