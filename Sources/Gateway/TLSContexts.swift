import TLS
import Wire

/// The TLS contexts of the two doors; a reload makes new ones for new connections.
struct TLSContexts: Sendable {
    let provider: TLSContext
    let device: TLSContext

    init(certificatePEM: [UInt8], keyPEM: [UInt8]) throws(TLSError) {
        provider = try TLSContext.server(
            certificateChainPEM: certificatePEM,
            keyPEM: keyPEM,
            options: TLSServerOptions(alpn: ["h2"], asksForClientCertificate: true, clientCAPEM: nil, tickets: 2)
        )
        device = try TLSContext.server(
            certificateChainPEM: certificatePEM,
            keyPEM: keyPEM,
            options: TLSServerOptions(
                alpn: [DeviceProtocol.extended, DeviceProtocol.plain],
                asksForClientCertificate: false,
                clientCAPEM: nil,
                tickets: 0
            )
        )
    }
}
