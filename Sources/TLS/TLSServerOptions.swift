/// How a listener speaks TLS, apart from its certificate.
package struct TLSServerOptions: Sendable {
    /// Protocol names in the server's order of preference. Without a common one the session goes on without ALPN.
    package var alpn: [String]
    /// Whether the peer is asked for a certificate. It may have none; what it presents is judged by the caller.
    package var asksForClientCertificate: Bool
    /// The authorities named to the client when it is asked, so that it can choose a certificate.
    package var clientCAPEM: [UInt8]?
    /// Whether clients get tickets to resume their sessions with.
    package var tickets: TLSTickets
    /// Whether established sessions may let go of OpenSSL (`TLSSession.detach`). Their context belongs to one thread.
    package var detaches: Bool
    /// Whether a session keeps its record buffers, 9 KB, when it has nothing to say: for sessions that are few and
    /// busy, which would ask for them anew for each record. `TLSSession.releaseBuffers` gives them back.
    package var keepsBuffers: Bool

    package init(
        alpn: [String] = [],
        asksForClientCertificate: Bool = false,
        clientCAPEM: [UInt8]? = nil,
        tickets: TLSTickets = .none,
        detaches: Bool = false,
        keepsBuffers: Bool = false
    ) {
        self.alpn = alpn
        self.asksForClientCertificate = asksForClientCertificate
        self.clientCAPEM = clientCAPEM
        self.tickets = tickets
        self.detaches = detaches
        self.keepsBuffers = keepsBuffers
    }
}
