/// Why the admin port does not listen.
package enum AdminError: Error, Equatable, CustomStringConvertible {
    case unknownHost(String, reason: String)
    case addressInUse(String)
    case cannotListen(String, reason: String)
    case unusableCertificate
    case cannotStart(reason: String)

    package var description: String {
        switch self {
        case .unknownHost(let host, let reason): "admin: \(host) is no address to listen on: \(reason)"
        case .addressInUse(let address): "admin: another program listens on \(address)"
        case .cannotListen(let address, let reason): "admin: cannot listen on \(address): \(reason)"
        case .unusableCertificate: "admin: the TLS certificate and key are not PEM, or do not belong together"
        case .cannotStart(let reason): "admin: cannot start: \(reason)"
        }
    }
}
