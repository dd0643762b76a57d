import Testing

@testable import TLSRecord

/// The bytes that `text` writes in hexadecimal, blanks and line ends left out.
func bytes(_ text: String) -> [UInt8] {
    let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// Keys of `suite` that follow from one number.
func keys(_ suite: CipherSuite = .aes128GCMSHA256, seed: UInt8 = 1) -> TrafficKeys {
    let secret = [UInt8](repeating: seed, count: suite.secretCount)
    return TrafficKeys(suite: suite, secret: TrafficSecret(copying: secret.span))
}

func sealer(_ suite: CipherSuite = .aes128GCMSHA256, seed: UInt8 = 1, recordsPerKey: UInt64 = 1 << 24) -> RecordSealer {
    RecordSealer(keys: keys(suite, seed: seed), ciphers: CipherPool(), recordsPerKey: recordsPerKey)
}

/// A gateway's session and the other end of it, which can seal whatever it likes.
struct Ends: ~Copyable {
    var session: RecordSession
    /// Seals what the session receives.
    var peer: RecordSealer
    /// Opens what the session sends.
    var listener: RecordSession
    var outgoing: [UInt8] = []
    private var plaintext: [UInt8] = []

    init(_ suite: CipherSuite = .aes128GCMSHA256, recordsPerKey: UInt64 = 1 << 24) {
        let ciphers = CipherPool()
        session = RecordSession(
            opener: RecordOpener(keys: keys(suite, seed: 1), ciphers: ciphers),
            sealer: RecordSealer(keys: keys(suite, seed: 2), ciphers: ciphers, recordsPerKey: recordsPerKey)
        )
        peer = sealer(suite, seed: 1)
        listener = RecordSession(
            opener: RecordOpener(keys: keys(suite, seed: 2), ciphers: ciphers),
            sealer: sealer(suite, seed: 3)
        )
    }

    /// What the session reads of these records; an error is told to the peer, as the gateway does.
    mutating func receive(_ records: [UInt8]) throws(RecordError) -> [UInt8] {
        do throws(RecordError) {
            let count = try session.receive(records.span, into: &plaintext)
            return Array(plaintext[..<count])
        } catch {
            session.fail(error, into: &outgoing)
            throw error
        }
    }

    mutating func send(_ content: [UInt8]) throws(RecordError) {
        try session.send(content.span, into: &outgoing)
    }

    /// What the peer reads of all that was sent so far.
    mutating func heard() throws(RecordError) -> [UInt8] {
        let records = outgoing
        outgoing = []
        let count = try listener.receive(records.span, into: &plaintext)
        return Array(plaintext[..<count])
    }

    /// A record of any type, with `padding` zeros behind it.
    mutating func record(_ type: UInt8, _ content: [UInt8], padding: Int = 0) -> [UInt8] {
        var record: [UInt8] = []
        let padded = content + [type] + [UInt8](repeating: 0, count: padding)
        // The last byte of the padding is the "type" that the sealer writes.
        let last = ContentType(rawValue: padded[padded.count - 1])
        peer.seal(last, padded.span.extracting(0..<(padded.count - 1)), into: &record)
        return record
    }

    mutating func data(_ content: [UInt8]) -> [UInt8] { record(23, content) }
}

/// The alert that a call is answered with; nil if it succeeds.
func alert(_ body: () throws(RecordError) -> Void) -> RecordError? {
    do {
        try body()
        return nil
    } catch {
        return error
    }
}
