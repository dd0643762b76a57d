import CNGHTTP2

/// Encodes header blocks as nghttp2's clients do: `authorization` is never indexed and `:path` not, so that of the
/// usual headers of a push only the first block of a connection changes the table.
package struct HeaderEncoder: ~Copyable {
    private let raw: OpaquePointer

    /// `tableSize` is what the server allows, 4096 unless it says otherwise.
    package init(tableSize: Int) throws(HTTP2Error) {
        var raw: OpaquePointer?
        try check(nghttp2_hd_deflate_new(&raw, tableSize))
        self.raw = raw!
    }

    deinit { nghttp2_hd_deflate_del(raw) }

    /// The block of these fields, the pseudo headers first. What it puts into the table, later blocks refer to.
    package func encode(_ fields: [(name: String, value: String)]) throws(HTTP2Error) -> [UInt8] {
        // One buffer for all names and values, because the library wants them at addresses that stay.
        var text: [UInt8] = []
        for field in fields { text += Array(field.name.utf8) + Array(field.value.utf8) }
        // Literals without compression are the worst case: a name, a value and a few bytes of lengths.
        var block = [UInt8](repeating: 0, count: text.count + 32 * fields.count + 64)
        let count = text.withUnsafeMutableBufferPointer { text in
            var next = text.baseAddress
            let list = fields.map { field in
                let (name, value) = (next, next.map { $0 + field.name.utf8.count })
                next = value.map { $0 + field.value.utf8.count }
                return nghttp2_nv(
                    name: name,
                    value: value,
                    namelen: field.name.utf8.count,
                    valuelen: field.value.utf8.count,
                    flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)
                )
            }
            return nghttp2_hd_deflate_hd(raw, &block, block.count, list, list.count)
        }
        try check(Int32(clamping: count))
        return Array(block[..<count])
    }
}

/// Decodes the header blocks of answers. Each block of a connection must pass, in order: they share a table.
package struct HeaderDecoder: ~Copyable {
    private let raw: OpaquePointer

    package init() throws(HTTP2Error) {
        var raw: OpaquePointer?
        try check(nghttp2_hd_inflate_new(&raw))
        self.raw = raw!
    }

    deinit { nghttp2_hd_inflate_del(raw) }

    /// Reads a whole block and returns its `:status`; nil for trailers, which have none, and for what is no status.
    package func status(_ block: Span<UInt8>) throws(HTTP2Error) -> Int? {
        var status: Int?
        // Of pseudo headers an answer has only this one, and no other name begins with a colon.
        try read(block) { name, value in
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            guard name.first == UInt8(ascii: ":"), value.count == 3, value.allSatisfy(digits.contains) else { return }
            status = value.reduce(0) { $0 * 10 + Int($1 - digits.lowerBound) }
        }
        return status
    }

    /// Reads a whole block and hands over each field's name and value, which are gone when `onField` returns.
    package func read(
        _ block: Span<UInt8>,
        _ onField: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
    ) throws(HTTP2Error) {
        let result: Int32 = block.withUnsafeBufferPointer { bytes in
            var (rest, field) = (bytes[...], nghttp2_nv())
            while true {
                var flags: Int32 = 0
                let next = UnsafeBufferPointer(rebasing: rest)
                let count = nghttp2_hd_inflate_hd2(raw, &field, &flags, next.baseAddress, next.count, 1)
                guard count >= 0 else { return Int32(clamping: count) }
                rest = rest.dropFirst(count)
                if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                    onField(
                        UnsafeBufferPointer(start: field.name, count: field.namelen),
                        UnsafeBufferPointer(start: field.value, count: field.valuelen)
                    )
                }
                if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { break }
            }
            nghttp2_hd_inflate_end_headers(raw)
            return 0
        }
        try check(result)
    }
}
