import PushCore
import TLS
import Wire

/// A device: what it knows, what it has been told, and what it has not acknowledged.
final class SimulatedDevice {
    /// A notification that has come.
    struct Received {
        let id: UInt32
        let serial: Int
    }

    let index: Int
    let credentials: Identity.DeviceCredentials
    let isExtended: Bool
    var link: Link?
    var isConnected = false
    /// By topic, the token that its provider uses.
    var tokens = [[UInt8]?](repeating: nil, count: SimulatedTopics.names.count)
    var inbox: [Received] = []
    /// What the last link was given to resume its TLS session with.
    private(set) var ticket: TLSTicket?
    private var hasSaidConnect = false
    private var decoder = ServerFrameDecoder(frameLimit: 1 << 18)

    init(index: Int, credentials: Identity.DeviceCredentials) {
        self.index = index
        self.credentials = credentials
        isExtended = index % 3 == 0
    }

    /// Begins anew with a connection, or without one.
    func use(_ link: Link?) {
        ticket = self.link?.session.ticket ?? ticket
        self.link = link
        (isConnected, hasSaidConnect, inbox) = (false, false, [])
        decoder = ServerFrameDecoder(frameLimit: 1 << 18)
    }

    /// Proves who it is, once the handshake is done.
    func connect(isAwake: Bool, nonce: ConnectNonce) throws(TLSError) {
        guard let link, link.isEstablished, !hasSaidConnect else { return }
        hasSaidConnect = true
        var message = nonce.bytes
        if isExtended {
            let (label, count) = (DeviceProtocol.exporterLabel, DeviceProtocol.exporterCount)
            let exported = try link.session.exporter(label: label, context: [], count: count)
            message = Array(DeviceProtocol.signatureContext.utf8) + exported + message
        }
        let connect = Connect(
            state: isAwake ? 1 : 2,
            certificate: credentials.certificate,
            nonce: nonce.bytes,
            signature: [0xc0, 0x02] + (try credentials.key.signECDSASHA256DER(message.span)),
            protocolVersion: 11
        )
        say(.connect(connect), isControl: true)
    }

    func say(_ message: DeviceMessage, isControl: Bool = false) {
        guard let link else { return }
        var frame: [UInt8] = []
        message.encode(into: &frame)
        link.say(frame)
        if isControl { link.saysControl = true }
    }

    /// Takes what has come and returns the frames that are whole; nil when they are no frames.
    func receive(_ plain: [UInt8]) -> [ServerMessage]? {
        decoder.append(plain.span)
        var messages: [ServerMessage] = []
        do throws(WireError) {
            while let message = try decoder.next() { messages.append(message) }
        } catch {
            return nil
        }
        return messages
    }
}
