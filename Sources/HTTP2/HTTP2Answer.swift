import CNGHTTP2

/// A reusable answer: `reset(status:)`, then `add`. One per loop; in the steady state it allocates nothing.
package final class HTTP2Answer {
    private struct Field {
        let name: StaticString
        let start: Int
        let count: Int
    }

    /// The whole of the one DATA frame; without it the HEADERS frame ends the stream. At most 16384 bytes.
    package var body: [UInt8] = []
    private var fields: [Field] = []
    private var values: [UInt8] = []
    private var pairs: [nghttp2_nv] = []

    package init() {}

    /// Forgets the last answer and begins one with a status of three digits.
    package func reset(status: Int) {
        precondition((100...999).contains(status), "a status has three digits")
        fields.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        body.removeAll(keepingCapacity: true)
        values.append(UInt8(48 + status / 100))
        values.append(UInt8(48 + status / 10 % 10))
        values.append(UInt8(48 + status % 10))
        fields.append(Field(name: ":status", start: 0, count: 3))
    }

    /// Adds a header. Its value is taken for unique and never enters the peer's table.
    package func add(_ name: StaticString, _ value: Span<UInt8>) {
        fields.append(Field(name: name, start: values.count, count: value.count))
        value.withUnsafeBufferPointer { values.append(contentsOf: $0) }
    }

    /// Lends the headers as nghttp2 wants them.
    func withPairs<Result>(_ use: (UnsafeBufferPointer<nghttp2_nv>) -> Result) -> Result {
        values.withUnsafeMutableBufferPointer { values in
            pairs.removeAll(keepingCapacity: true)
            for (index, field) in fields.enumerated() {
                // A status is worth a place in the peer's table; an id seen once is not.
                let flags = index == 0 ? NGHTTP2_NV_FLAG_NO_COPY_NAME : noIndex
                pairs.append(
                    nghttp2_nv(
                        name: UnsafeMutablePointer(mutating: field.name.utf8Start),
                        value: values.baseAddress! + field.start,
                        namelen: field.name.utf8CodeUnitCount,
                        valuelen: field.count,
                        flags: UInt8(flags.rawValue)
                    )
                )
            }
            return pairs.withUnsafeBufferPointer(use)
        }
    }
}

private let noIndex = nghttp2_nv_flag(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
