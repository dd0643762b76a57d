import Testing

@testable import TLSRecord

/// What others have published: RFC 8448, section 3, a simple handshake with TLS_AES_128_GCM_SHA256.
@Suite struct VectorTests {
    static let clientSecret = "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5"
    static let serverSecret = "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643"
    static let clientData = """
        1703030043 a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5b46b395bd54a9a20441e2b62974e1f5a6292a
        2977014bd1e3deae63aeebb21694915e4
        """
    static let serverData = """
        1703030043 2e937e11ef4ac740e538ad36005fc4a46932fc3225d05f82aa1b36e30efaf97d90e6dffc602dcb501a59a8fcc49c4bf2e5f0a
        21c0047c2abf332540dd032e167c2955d
        """
    static let clientAlert = "1703030013 c9872760655666b74d7ff1153efd6db6d0b0e3"
    static let serverAlert = "1703030013 b58fd67166ebf599d24720cfbe7efa7a8864a9"
    /// The server's first record under its application keys was a ticket.
    static let ticketsSent: UInt64 = 1
    /// Both sides send the bytes 0 to 49.
    static let content = [UInt8](0..<50)

    private func keys(_ secret: String, from sequence: UInt64 = 0) -> TrafficKeys {
        var keys = TrafficKeys(suite: .aes128GCMSHA256, secret: TrafficSecret(copying: bytes(secret).span))
        keys.skip(to: sequence)
        return keys
    }

    private func session() -> RecordSession {
        let ciphers = CipherPool()
        return RecordSession(
            opener: RecordOpener(keys: keys(Self.clientSecret), ciphers: ciphers),
            sealer: RecordSealer(keys: keys(Self.serverSecret, from: Self.ticketsSent), ciphers: ciphers)
        )
    }

    @Test func `the client's records are read`() throws {
        var session = session()
        var plaintext: [UInt8] = []
        let records = bytes(Self.clientData) + bytes(Self.clientAlert)
        let count = try session.receive(records.span, into: &plaintext)
        #expect(Array(plaintext[..<count]) == Self.content)
        let isPeerClosed = session.isPeerClosed
        #expect(isPeerClosed)
    }

    @Test func `the server's records are written`() throws {
        var session = session()
        var outgoing: [UInt8] = []
        try session.send(Self.content.span, into: &outgoing)
        session.close(into: &outgoing)
        #expect(outgoing == bytes(Self.serverData) + bytes(Self.serverAlert))
    }
}
