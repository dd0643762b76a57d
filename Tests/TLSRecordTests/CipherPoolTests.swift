import Testing

@testable import TLSRecord

@Suite struct CipherPoolTests {
    /// Sealers and the openers of what they seal, all of which share a pool.
    private func talk(sessions: Int, rounds: Int, capacity: Int) throws {
        let pool = CipherPool(capacity: capacity)
        let suites = CipherSuite.allCases
        var senders = (0..<sessions).map { Sender(suites[$0 % suites.count], UInt8($0), pool) }
        for round in 0..<rounds {
            for index in senders.indices where round % (index % 3 + 1) == 0 {
                #expect(try senders[index].talk(UInt8(round)) == [UInt8(round)])
            }
            // Some leave, and others take their places.
            let newcomer = round % sessions
            senders[newcomer] = Sender(suites[round % suites.count], UInt8(round), pool)
        }
    }

    @Test(arguments: [1, 2, 3, 7, 100])
    func `each session finds its own keys, however few places there are`(_ capacity: Int) throws {
        try talk(sessions: 9, rounds: 60, capacity: capacity)
    }
}

/// One direction, both ends of it.
private final class Sender {
    private var sealer: RecordSealer
    private var opener: RecordOpener

    init(_ suite: CipherSuite, _ seed: UInt8, _ pool: CipherPool) {
        sealer = RecordSealer(keys: keys(suite, seed: seed), ciphers: pool)
        opener = RecordOpener(keys: keys(suite, seed: seed), ciphers: pool)
    }

    func talk(_ byte: UInt8) throws(RecordError) -> [UInt8] {
        var (record, plaintext): ([UInt8], [UInt8]) = ([], [])
        let content = [byte]
        sealer.seal(data: content.span, into: &record)
        let opened = try opener.open(record.span, into: &plaintext, at: 0)
        return Array(plaintext[..<opened.count])
    }
}
