import PushCore
import TLS
import Wire

/// The TLS contexts of the two doors; a reload makes new ones for new connections.
struct TLSContexts: Sendable {
    let provider: TLSContext
    /// By loop, because a context whose sessions detach belongs to one thread.
    let devices: [TLSContext]

    init(_ files: InstanceFiles, _ config: Config, loops: Int) throws(TLSError) {
        provider = try TLSContext.server(
            certificateChainPEM: files.certificatePEM,
            keyPEM: files.keyPEM,
            options: TLSServerOptions(
                alpn: ["h2"],
                asksForClientCertificate: true,
                clientCAPEM: nil,
                tickets: .own(2),
                keepsBuffers: true
            )
        )
        // New keys at each reload: what a certificate vouched for ends with it.
        let seconds = Int(Limits.ticketLife.milliseconds / 1000)
        let tickets: TLSTickets = config.deviceTLSResume ? .shared(TicketKeys(lifeSeconds: seconds)) : .none
        let options = TLSServerOptions(
            alpn: [DeviceProtocol.extended, DeviceProtocol.plain],
            asksForClientCertificate: false,
            clientCAPEM: nil,
            tickets: tickets,
            detaches: config.deviceTLSDetach
        )
        devices = try (0..<loops).map { _ throws(TLSError) in
            try TLSContext.server(certificateChainPEM: files.certificatePEM, keyPEM: files.keyPEM, options: options)
        }
    }
}
