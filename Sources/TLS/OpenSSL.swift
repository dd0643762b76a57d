import COpenSSL

/// Calls OpenSSL with an empty error queue; a result that is not positive becomes the error.
@discardableResult
func attempt(_ failure: (String) -> TLSError, _ call: () -> Int32) throws(TLSError) -> Int32 {
    ERR_clear_error()
    let result = call()
    guard result > 0 else { throw failure(queuedReason()) }
    return result
}

/// Calls OpenSSL with an empty error queue for an object; none becomes the error. The caller owns the object.
@discardableResult
func make<Object>(_ failure: (String) -> TLSError, _ call: () -> Object?) throws(TLSError) -> Object {
    ERR_clear_error()
    guard let object = call() else { throw failure(queuedReason()) }
    return object
}

/// What OpenSSL says of the first thing that went wrong; the later entries only tell where it was passed on.
func queuedReason() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "no reason given" }
    if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
    return "error \(code)"
}

/// Lets `read` take one object from PEM text. The text is only borrowed.
func readPEM<Object>(_ pem: [UInt8], _ read: (OpaquePointer) -> Object?) throws(TLSError) -> Object {
    try pem.span.withUnsafeBytes { (bytes) throws(TLSError) in
        guard let start = bytes.baseAddress, let count = Int32(exactly: bytes.count) else {
            throw .credentials("no PEM text")
        }
        let bio = try make(TLSError.library) { BIO_new_mem_buf(start, count) }
        defer { BIO_free(bio) }
        return try make(TLSError.credentials) { read(bio) }
    }
}

/// Lets `write` fill a memory BIO and returns what it wrote. Only a lack of memory stops that.
func writePEM(_ write: (OpaquePointer) -> Int32) -> [UInt8] {
    ERR_clear_error()
    let bio = BIO_new(BIO_s_mem())!
    defer { BIO_free(bio) }
    let written = write(bio)
    precondition(written == 1, "OpenSSL cannot write PEM")
    return takeAll(from: bio)
}

/// Empties a memory BIO.
func takeAll(from bio: OpaquePointer) -> [UInt8] {
    let count = BIO_ctrl_pending(bio)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        initialized = Int(max(0, BIO_read(bio, buffer.baseAddress, Int32(count))))
    }
}

/// Collects what an `i2d` function writes: it is asked for the length first.
func encodeDER(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
    let count = Int(max(0, encode(nil)))
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        var position = buffer.baseAddress
        initialized = Int(max(0, encode(&position)))
    }
}

/// Lets a `d2i` function take one object that must fill all of `der`: bytes behind it are refused.
func decodeDER<Object>(
    _ der: Span<UInt8>,
    free: (Object) -> Void,
    _ decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> Object?
) throws(TLSError) -> Object {
    try der.withUnsafeBufferPointer { (bytes) throws(TLSError) in
        var position = bytes.baseAddress
        guard let start = position else { throw .credentials("no DER bytes") }
        let object = try make(TLSError.credentials) { decode(&position, bytes.count) }
        guard position == start + bytes.count else {
            free(object)
            throw .credentials("bytes behind the end of the DER object")
        }
        return object
    }
}

/// Answers every demand for a pass phrase with "none": without it OpenSSL would ask on the terminal.
func noPassphrase(
    _: UnsafeMutablePointer<CChar>?,
    _: Int32,
    _: Int32,
    _: UnsafeMutableRawPointer?
) -> Int32 { -1 }
