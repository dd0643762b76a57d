import TLS
import Wire

/// The TLS contexts of the two doors; a reload makes new ones for new connections.
struct TLSContexts: Sendable {
    let provider: TLSContext
    let device: TLSContext

    init(_ files: InstanceFiles, detachesDevices: Bool) throws(TLSError) {
        provider = try TLSContext.server(
            certificateChainPEM: files.certificatePEM,
            keyPEM: files.keyPEM,
            options: TLSServerOptions(
                alpn: ["h2"],
                asksForClientCertificate: true,
                clientCAPEM: nil,
                tickets: 2,
                keepsBuffers: true
            )
        )
        device = try TLSContext.server(
            certificateChainPEM: files.certificatePEM,
            keyPEM: files.keyPEM,
            options: TLSServerOptions(
                alpn: [DeviceProtocol.extended, DeviceProtocol.plain],
                asksForClientCertificate: false,
                clientCAPEM: nil,
                tickets: 0,
                detaches: detachesDevices
            )
        )
    }
}
