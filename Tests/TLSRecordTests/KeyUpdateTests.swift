import Testing

@testable import TLSRecord

@Suite struct KeyUpdateTests {
    @Test(arguments: CipherSuite.allCases)
    func `the peer changes its keys`(_ suite: CipherSuite) throws {
        var ends = Ends(suite)
        for round in UInt8(0)..<5 {
            #expect(try ends.receive(ends.record(22, [24, 0, 0, 1, 0])) == [])
            ends.peer.changeKeys()
            #expect(try ends.receive(ends.data([round])) == [round])
        }
        try ends.send([1])
        #expect(ends.outgoing.count == 5 + 1 + 1 + 16)
    }

    @Test func `the old keys are of no use after`() throws {
        var ends = Ends()
        #expect(try ends.receive(ends.record(22, [24, 0, 0, 1, 0])) == [])
        let told = alert { () throws(RecordError) in _ = try ends.receive(ends.data([1])) }
        #expect(told == .broken(.badRecordMAC))
    }

    @Test func `many requests get one answer, before the next data`() throws {
        var ends = Ends()
        for _ in 0..<3 {
            #expect(try ends.receive(ends.record(22, [24, 0, 0, 1, 1])) == [])
            ends.peer.changeKeys()
        }
        #expect(ends.outgoing.isEmpty)
        try ends.send([1])
        // The update, then the data.
        #expect(ends.outgoing.count == (5 + 5 + 1 + 16) + (5 + 1 + 1 + 16))
        #expect(try ends.heard() == [1])
        try ends.send([2])
        #expect(ends.outgoing.count == 5 + 1 + 1 + 16)
        #expect(try ends.heard() == [2])
    }

    @Test func `a message may come byte by byte`() throws {
        var ends = Ends()
        for byte in [24, 0, 0, 1, 0] as [UInt8] { #expect(try ends.receive(ends.record(22, [byte])) == []) }
        ends.peer.changeKeys()
        #expect(try ends.receive(ends.data([1])) == [1])
    }

    @Test func `nothing may come between the parts of a message`() throws {
        for (type, content) in [(23, [1]), (23, []), (21, [1, 0]), (20, [1])] as [(UInt8, [UInt8])] {
            var ends = Ends()
            #expect(try ends.receive(ends.record(22, [24, 0])) == [])
            let told = alert { () throws(RecordError) in _ = try ends.receive(ends.record(type, content)) }
            #expect(told == .broken(.unexpectedMessage))
        }
    }

    @Test func `no other message is taken`() throws {
        let messages: [([UInt8], Alert)] = [
            ([], .unexpectedMessage), ([4, 0, 0, 0], .unexpectedMessage), ([1], .unexpectedMessage),
            ([24, 0, 0, 0], .decodeError), ([24, 0, 0, 2, 0, 0], .decodeError), ([24, 1], .decodeError),
            ([24, 0, 0, 1, 2], .illegalParameter), ([24, 0, 0, 1, 0, 24], .unexpectedMessage),
        ]
        for (message, expected) in messages {
            var ends = Ends()
            let told = alert { () throws(RecordError) in _ = try ends.receive(ends.record(22, message)) }
            #expect(told == .broken(expected), "\(message)")
        }
    }

    @Test(arguments: CipherSuite.allCases)
    func `our keys change before they have protected too much`(_ suite: CipherSuite) throws {
        var ends = Ends(suite, recordsPerKey: 4)
        for round in UInt8(0)..<20 {
            try ends.send([round])
            #expect(ends.outgoing.count == (round % 3 == 0 && round > 0 ? 27 : 0) + 23)
            #expect(try ends.heard() == [round])
        }
    }
}
