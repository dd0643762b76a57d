import TLS
import Wire

/// The TLS contexts of the two doors; a reload makes new ones for new connections.
struct TLSContexts: Sendable {
    let provider: TLSContext
    /// By loop, because a context whose sessions detach belongs to one thread.
    let devices: [TLSContext]

    init(_ files: InstanceFiles, detachesDevices: Bool, loops: Int) throws(TLSError) {
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
        let options = TLSServerOptions(
            alpn: [DeviceProtocol.extended, DeviceProtocol.plain],
            asksForClientCertificate: false,
            clientCAPEM: nil,
            tickets: 0,
            detaches: detachesDevices
        )
        devices = try (0..<loops).map { _ throws(TLSError) in
            try TLSContext.server(certificateChainPEM: files.certificatePEM, keyPEM: files.keyPEM, options: options)
        }
    }
}
