/// Why TLS, a key or a certificate was refused; the text is OpenSSL's reason, fit for a log.
package enum TLSError: Error, Equatable, CustomStringConvertible {
    /// The peer broke the protocol or failed verification. The session is dead; its alert is in the transport.
    case protocolError(String)
    /// The session has ended or has failed before.
    case closed
    /// There are no keys yet to send or export with.
    case notEstablished
    /// A certificate, key or request could not be read, made or used.
    case credentials(String)
    /// OpenSSL itself could not go on: out of memory, or broken.
    case library(String)

    package var description: String {
        switch self {
        case .protocolError(let reason): "TLS failed: \(reason)"
        case .closed: "the TLS session is closed"
        case .notEstablished: "the TLS handshake is not done"
        case .credentials(let reason): "bad key or certificate: \(reason)"
        case .library(let reason): "OpenSSL failed: \(reason)"
        }
    }
}
