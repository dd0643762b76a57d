/// The first frame of a connection: who the device is, and the proof. Telemetry is ignored, not kept.
package struct Connect: Equatable, Sendable {
    /// The base token of an earlier connection; nil on first contact.
    package var baseToken: [UInt8]?
    /// 1 is awake. nil counts as awake.
    package var state: UInt8?
    /// The device's certificate in DER.
    package var certificate: [UInt8]?
    /// 17 bytes: a zero, the time, and chance.
    package var nonce: [UInt8]?
    /// Two bytes for the form, then the signature itself.
    package var signature: [UInt8]?
    /// What other clients send as their version; not looked at.
    package var protocolVersion: UInt16?

    package init(
        baseToken: [UInt8]? = nil,
        state: UInt8? = nil,
        certificate: [UInt8]? = nil,
        nonce: [UInt8]? = nil,
        signature: [UInt8]? = nil,
        protocolVersion: UInt16? = nil
    ) {
        self.baseToken = baseToken
        self.state = state
        self.certificate = certificate
        self.nonce = nonce
        self.signature = signature
        self.protocolVersion = protocolVersion
    }
}

extension Connect {
    private enum ItemID: UInt8 {
        case baseToken = 1
        case state = 2
        case flags = 5
        case certificate = 12
        case nonce = 13
        case signature = 14
        case protocolVersion = 16
    }

    /// What every device in the field sends as its presence flags; a server ignores them.
    private static let flags: UInt32 = 0x41

    init(_ body: Span<UInt8>) throws(Malformed) {
        self.init()
        var reader = ItemReader()
        while let item = try reader.next(in: body) {
            switch ItemID(rawValue: item.id) {
            case .baseToken: baseToken = body.bytes(item)
            case .state: state = try body.number(item)
            case .certificate: certificate = body.bytes(item)
            case .nonce: nonce = body.bytes(item)
            case .signature: signature = body.bytes(item)
            case .protocolVersion: protocolVersion = item.value.count == 2 ? try body.number(item) : nil
            case .flags, nil: break
            }
        }
    }

    func encode(into output: inout [UInt8]) {
        output.appendFrame(.connect) { items in
            if let baseToken { items.appendItem(ItemID.baseToken.rawValue, baseToken) }
            if let state { items.appendItem(ItemID.state.rawValue, state) }
            items.appendItem(ItemID.flags.rawValue, Self.flags)
            if let certificate { items.appendItem(ItemID.certificate.rawValue, certificate) }
            if let nonce { items.appendItem(ItemID.nonce.rawValue, nonce) }
            if let signature { items.appendItem(ItemID.signature.rawValue, signature) }
            if let protocolVersion { items.appendItem(ItemID.protocolVersion.rawValue, protocolVersion) }
        }
    }
}
