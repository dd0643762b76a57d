import PushCore
import TLS
import Wire

/// A device's connection: frames over a secure link.
final class CourierLink {
    /// What a gateway may send in one frame: as much as it may be sent.
    private static let frameLimit = 262_144
    /// Bytes that wait for a gateway that does not read. Acknowledgements are 16 bytes each, so this is very many.
    private static let unsentLimit = 1_048_576

    private let link: SecureLink
    private var decoder = ServerFrameDecoder(frameLimit: frameLimit)

    /// Begins to speak on a link whose handshake may still go on.
    init(_ link: SecureLink) {
        self.link = link
    }

    var number: Int32 { link.number }
    var isEstablished: Bool { link.isEstablished }
    var ticket: TLSTicket? { link.ticket }
    var hasUnsent: Bool { link.unsentCount > 0 }
    /// The gateway will send no more. What came before can still be read with `next`.
    var hasEnded: Bool { link.hasEnded }

    /// Reads once into `buffer` and decrypts; `next` then returns what came.
    func receive(using buffer: inout [UInt8]) throws(CourierError) {
        let plaintext = try link.receive(using: &buffer)
        decoder.append(plaintext.span)
    }

    /// The next frame of the gateway; nil when there is none yet.
    func next() throws(CourierError) -> ServerMessage? {
        do { return try decoder.next() } catch { throw .wire(error) }
    }

    /// Encrypts and sends. What the kernel does not take at once waits for `flush`.
    func send(_ plaintext: [UInt8]) throws(CourierError) {
        try link.send(plaintext)
        try checkUnsent()
    }

    /// Signs this connection with the device's key: the first thing to send.
    func connect(_ credentials: CourierCredentials, baseToken: [UInt8]?, milliseconds: Int64) throws(CourierError) {
        let made = Moment(milliseconds: milliseconds)
        let nonce = ConnectNonce(made: made, random: .random(in: .min ... .max)).bytes
        let exporter: [UInt8]? =
            link.alpn == DeviceProtocol.extended
            ? try link.exporter(label: DeviceProtocol.exporterLabel, count: DeviceProtocol.exporterCount) : nil
        let connect = try secure { () throws(TLSError) in
            try credentials.connect(baseToken: baseToken, nonce: nonce, exporter: exporter)
        }
        var frame: [UInt8] = []
        DeviceMessage.connect(connect).encode(into: &frame)
        try send(frame)
    }

    /// Sends what waits, as far as the kernel takes it.
    func flush() throws(CourierError) {
        try link.flush()
        try checkUnsent()
    }

    /// Says goodbye in TLS and TCP. The descriptor closes when the link goes.
    func close() { link.close() }

    private func checkUnsent() throws(CourierError) {
        guard link.unsentCount <= Self.unsentLimit else { throw .stalled }
    }
}
