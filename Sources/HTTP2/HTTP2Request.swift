import Glibc

/// One request. The owner gets it from `takeRequests` and gives it back with `release`; then it is used again.
package final class HTTP2Request {
    private let cell: Cell<RequestRecord>

    init() { cell = Cell(RequestRecord()) }

    var record: RequestRecord {
        _read { yield cell.pointer.pointee }
        _modify { yield &cell.pointer.pointee }
    }

    /// Of the record; valid while the request lives.
    var address: UnsafeMutablePointer<RequestRecord> { cell.pointer }

    /// Its number on the connection.
    package var stream: Int32 { record.stream }

    /// When it began, as the owner's `HTTP2Server.time` was.
    package var begunAt: Int64 { record.begunAt }

    /// The peer has sent all of it.
    package var isComplete: Bool { record.isComplete }

    /// The body passed the limit; what is beyond is counted and dropped.
    package var isBodyTooLarge: Bool { record.isBodyTooLarge }

    /// The stream is gone: reset by the peer or by us, or answered to the end.
    package var isClosed: Bool { record.isClosed }

    /// The values of all wanted fields, then the body.
    package var bytes: [UInt8] {
        _read { yield cell.pointer.pointee.bytes }
    }

    /// The part of the body that was kept, as a range of `bytes`.
    package var body: Range<Int> { record.bodyStart..<record.bytes.count }

    /// Bytes of the body that came, also those dropped.
    package var bodyCount: Int { record.bodyCount }

    /// A name that begins with `apns-` and is not wanted came twice.
    package var hasRepeatedUnknown: Bool { record.hasRepeatedUnknown }

    /// The first value of a field, as a range of `bytes`.
    package func range(of field: Int) -> Range<Int>? {
        let field = record.fields[field]
        return field.isPresent ? Int(field.start)..<Int(field.end) : nil
    }

    /// Whether the field came and its first value is `value`: for what is compared with each request.
    package func holds(_ field: Int, _ value: [UInt8]) -> Bool {
        guard let range = range(of: field), range.count == value.count else { return false }
        return record.bytes.withUnsafeBytes { bytes in
            value.withUnsafeBytes { value in
                value.isEmpty || memcmp(bytes.baseAddress! + range.lowerBound, value.baseAddress!, value.count) == 0
            }
        }
    }

    /// Bit n is set if field n came more than once.
    package var repeatedFields: UInt64 { record.repeatedFields }
}
