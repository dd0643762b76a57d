import COpenSSL
import TLSRecord

/// Where the sessions of one loop read and write: one BIO and one pair of buffers for all of them.
///
/// Only the session whose turn it is uses it. The caller empties `outgoing` before the next session's turn, also
/// after an error, or one peer's records would go to another.
package final class TLSTransport {
    /// What `TLSSession.receive` decrypted, from index 0. It stays as long as its largest turn was.
    package internal(set) var plaintext = [UInt8](repeating: 0, count: TLSTransport.plaintextCapacity)
    /// Ciphertext to write to the peer. The caller takes it and calls `removeAll(keepingCapacity: true)`.
    package var outgoing: [UInt8] = []

    /// Ciphertext that the session whose turn it is has not read yet; borrowed from the caller of `receive`.
    var incoming = UnsafeRawBufferPointer(start: nil, count: 0)
    let bio: OpaquePointer
    /// What the detached sessions encrypt with.
    let ciphers = CipherPool()

    /// One turn's reading: sixteen records of the largest size.
    static let plaintextCapacity = 256 * 1024

    package init() {
        bio = BIO_new(BIOMethod.shared.raw)!
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
    }

    // Each session holds the transport, so no SSL is left that could call back through the freed address.
    deinit { BIO_free(bio) }

    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int32 {
        let count = min(buffer.count, incoming.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: incoming.prefix(count)))
        incoming = UnsafeRawBufferPointer(rebasing: incoming.dropFirst(count))
        return Int32(count)
    }

    fileprivate func write(_ bytes: UnsafeRawBufferPointer) {
        outgoing.append(contentsOf: bytes)
    }
}

/// OpenSSL's table of our three functions: made once, never freed, the same for all threads.
private struct BIOMethod {
    static let shared = BIOMethod()
    // An address rather than a pointer, because a pointer cannot be shared between threads; the table never changes.
    private let address: UInt
    var raw: OpaquePointer { OpaquePointer(bitPattern: address)! }

    private init() {
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "carillon loop")!
        BIO_meth_set_read(method) { bio, buffer, count in
            shim_BIO_clear_retry_flags(bio)
            guard let buffer, count > 0 else { return 0 }
            let target = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
            let moved = transport(of: bio)._withUnsafeGuaranteedRef { $0.read(into: target) }
            if moved > 0 { return moved }
            shim_BIO_set_retry_read(bio)
            return -1
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            shim_BIO_clear_retry_flags(bio)
            guard let bytes, count > 0 else { return 0 }
            let source = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            transport(of: bio)._withUnsafeGuaranteedRef { $0.write(source) }
            return count
        }
        // The handshake flushes after each flight; there is nothing to flush, and nothing else to control.
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        address = UInt(bitPattern: method)
    }
}

private func transport(of bio: OpaquePointer?) -> Unmanaged<TLSTransport> {
    Unmanaged.fromOpaque(BIO_get_data(bio)!)
}
