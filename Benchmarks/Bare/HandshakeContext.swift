import BenchmarkSupport
import COpenSSL

/// OpenSSL's settings for a listener, those of the gateway's device port (TLS/TLSContext.swift) but for the order of
/// suites: here the client's favourite counts, as it does when nothing is set.
final class HandshakeContext {
    let raw: OpaquePointer

    /// Both files are PEM; the first may be a chain.
    init(certificate: String, key: String) throws(OptionError) {
        guard let raw = SSL_CTX_new(TLS_server_method()) else { throw OptionError("OpenSSL has no context") }
        self.raw = raw
        _ = shim_SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION)
        SSL_CTX_set_security_level(raw, 2)
        SSL_CTX_set_options(raw, shim_SSL_OP_NO_RENEGOTIATION | shim_SSL_OP_NO_TICKET)
        shim_SSL_CTX_set_mode(raw, Int(SSL_MODE_RELEASE_BUFFERS))
        shim_SSL_CTX_set_session_cache_mode(raw, Int(SSL_SESS_CACHE_OFF))
        SSL_CTX_set_num_tickets(raw, 0)
        SSL_CTX_set_alpn_select_cb(raw, takeFirstProtocol, nil)
        guard SSL_CTX_use_certificate_chain_file(raw, certificate) == 1,
            SSL_CTX_use_PrivateKey_file(raw, key, SSL_FILETYPE_PEM) == 1
        else { throw OptionError("\(certificate) and \(key) cannot be used") }
    }

    deinit { SSL_CTX_free(raw) }
}

/// Takes the client's favourite; the name lies in the client's own message.
private func takeFirstProtocol(
    _: OpaquePointer?,
    chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    length: UnsafeMutablePointer<UInt8>?,
    offered: UnsafePointer<UInt8>?,
    count: UInt32,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let offered, count > 1, UInt32(offered[0]) < count else { return SSL_TLSEXT_ERR_NOACK }
    chosen?.pointee = offered + 1
    length?.pointee = offered[0]
    return SSL_TLSEXT_ERR_OK
}
