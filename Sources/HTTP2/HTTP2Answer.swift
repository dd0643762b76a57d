import CNGHTTP2

/// A reusable answer: `reset(status:)`, then `add`. One per loop; in the steady state it allocates nothing.
package final class HTTP2Answer {
    private let cell = Cell(AnswerRecord())

    package init() {}

    private var record: AnswerRecord {
        _read { yield cell.pointer.pointee }
        _modify { yield &cell.pointer.pointee }
    }

    /// The whole of the one DATA frame; without it the HEADERS frame ends the stream. At most 16384 bytes.
    package var body: [UInt8] {
        _read { yield record.body }
        _modify { yield &record.body }
    }

    /// Forgets the last answer and begins one with a status of three digits.
    package func reset(status: Int) {
        precondition((100...999).contains(status), "a status has three digits")
        record.reset(status: status)
    }

    /// Adds a header. Its value is taken for unique and never enters the peer's table.
    package func add(_ name: StaticString, _ value: Span<UInt8>) {
        value.withUnsafeBufferPointer { record.add(name, $0, NGHTTP2_NV_FLAG_NO_INDEX) }
    }

    /// Lends the headers as nghttp2 wants them.
    func withPairs<Result>(_ use: (UnsafeBufferPointer<nghttp2_nv>) -> Result) -> Result {
        record.withPairs(use)
    }
}

/// The headers of an answer, their values in one buffer.
private struct AnswerRecord {
    private struct Field {
        let name: StaticString
        let start: Int
        let count: Int
        let flags: UInt8
    }

    var body: [UInt8] = []
    private var fields: [Field] = []
    private var values: [UInt8] = []
    private var pairs: [nghttp2_nv] = []

    mutating func reset(status: Int) {
        fields.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        body.removeAll(keepingCapacity: true)
        let digits: InlineArray<3, UInt8> = [
            UInt8(48 + status / 100), UInt8(48 + status / 10 % 10), UInt8(48 + status % 10),
        ]
        // There are few statuses: each is worth a place in the peer's table.
        digits.span.withUnsafeBufferPointer { add(":status", $0, NGHTTP2_NV_FLAG_NONE) }
    }

    mutating func add(_ name: StaticString, _ value: UnsafeBufferPointer<UInt8>, _ flag: nghttp2_nv_flag) {
        let flags = UInt8(flag.rawValue | NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
        fields.append(Field(name: name, start: values.count, count: value.count, flags: flags))
        values.append(contentsOf: value)
    }

    mutating func withPairs<Result>(_ use: (UnsafeBufferPointer<nghttp2_nv>) -> Result) -> Result {
        pairs.removeAll(keepingCapacity: true)
        return values.withUnsafeMutableBufferPointer { values in
            for field in fields {
                pairs.append(
                    nghttp2_nv(
                        name: UnsafeMutablePointer(mutating: field.name.utf8Start),
                        value: values.baseAddress! + field.start,
                        namelen: field.name.utf8CodeUnitCount,
                        valuelen: field.count,
                        flags: field.flags
                    )
                )
            }
            return pairs.withUnsafeBufferPointer(use)
        }
    }
}
