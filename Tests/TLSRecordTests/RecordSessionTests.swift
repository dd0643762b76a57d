import Testing

@testable import TLSRecord

@Suite struct RecordSessionTests {
    @Test(arguments: CipherSuite.allCases)
    func `data comes out as it went in, however it is cut`(_ suite: CipherSuite) throws {
        for cut in [1, 7, 100_000] {
            var ends = Ends(suite)
            let content = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            var records: [UInt8] = []
            ends.peer.seal(data: content.span, into: &records)
            var read: [UInt8] = []
            for start in stride(from: 0, to: records.count, by: cut) {
                read += try ends.receive(Array(records[start..<min(start + cut, records.count)]))
            }
            #expect(read == content)
        }
    }

    @Test func `what is sent goes out in full records`() throws {
        var ends = Ends()
        try ends.send([UInt8](repeating: 5, count: 16_385))
        #expect(ends.outgoing.count == 16_385 + 2 * (5 + 1 + 16))
        #expect(try ends.heard() == [UInt8](repeating: 5, count: 16_385))
        try ends.send([])
        #expect(ends.outgoing.isEmpty)
    }

    @Test func `padding is taken off, up to a full record`() throws {
        var ends = Ends()
        for padding in [1, 15, 16_381] {
            let record = ends.record(23, [1, 0, 2], padding: padding)
            #expect(try ends.receive(record) == [1, 0, 2])
        }
        let full = ends.data([UInt8](repeating: 1, count: 16_384))
        #expect(try ends.receive(full).count == 16_384)
    }

    // MARK: Broken records

    /// What `record` is answered with, first to us and then to the peer.
    private func refusal(_ ends: inout Ends, _ records: [UInt8]) -> Alert? {
        let told = alert { () throws(RecordError) in _ = try ends.receive(records) }
        let heard = alert { () throws(RecordError) in _ = try ends.heard() }
        guard case .broken(let first) = told, case .refused(let second) = heard, first == second else { return nil }
        // Nothing goes on after an error, not even a record that is good.
        #expect(alert { () throws(RecordError) in _ = try ends.receive(ends.data([1])) } == .closed)
        #expect(alert { () throws(RecordError) in try ends.send([1]) } == .closed)
        let isPeerClosed = ends.session.isPeerClosed
        #expect(!isPeerClosed)
        return first
    }

    @Test func `every changed bit of a record is noticed`() throws {
        var sample = Ends()
        let record = sample.data([1, 2, 3])
        for bit in 24..<(8 * record.count) {
            var ends = Ends()
            var changed = record
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            // A length that is too long waits for the rest.
            changed += [UInt8](repeating: 0, count: 16_640)
            let expected: [Alert] = bit < 40 ? [.badRecordMAC, .recordOverflow] : [.badRecordMAC]
            #expect(expected.contains(try #require(refusal(&ends, changed))), "bit \(bit)")
        }
    }

    @Test func `a record that is lost, repeated or moved is noticed`() throws {
        for order in [[1], [0, 0], [1, 0], [0, 2]] {
            var ends = Ends()
            let records = [ends.data([0]), ends.data([1]), ends.data([2])]
            #expect(refusal(&ends, order.flatMap { records[$0] }) == .badRecordMAC)
        }
    }

    @Test func `a record that is not encrypted is refused at its header`() throws {
        for type in UInt8.min ... .max where type != 23 {
            var ends = Ends()
            #expect(refusal(&ends, [type, 3, 3, 0, 1]) == .unexpectedMessage)
        }
    }

    @Test func `the version of a record is covered by its tag and means nothing else`() throws {
        var ends = Ends()
        var record = ends.data([1])
        record[2] = 1
        #expect(refusal(&ends, record) == .badRecordMAC)
    }

    @Test func `a record that is too large is refused at its header`() throws {
        var ends = Ends()
        #expect(refusal(&ends, [23, 3, 3, 0x41, 0x01]) == .recordOverflow)
        ends = Ends()
        #expect(try ends.receive([23, 3, 3, 0x41, 0x00]) == [])
    }

    @Test func `content and padding together may be no more than a full record`() throws {
        for (count, padding) in [(16_385, 0), (1, 16_384), (16_384, 1)] {
            var ends = Ends()
            let record = ends.record(23, [UInt8](repeating: 1, count: count), padding: padding)
            #expect(refusal(&ends, record) == .recordOverflow)
        }
    }

    @Test func `a record without room for a tag, or for a type, is refused`() throws {
        for count in UInt8(0)..<17 {
            var ends = Ends()
            let record: [UInt8] = [23, 3, 3, 0, count] + [UInt8](repeating: 0, count: Int(count))
            #expect(refusal(&ends, record) == .badRecordMAC)
        }
        var ends = Ends()
        #expect(refusal(&ends, ends.record(0, [0, 0, 0])) == .unexpectedMessage)
    }

    @Test func `a type that nobody sends is refused`() throws {
        for type in UInt8(1) ... .max where !(21...23).contains(type) {
            var ends = Ends()
            #expect(refusal(&ends, ends.record(type, [1])) == .unexpectedMessage)
        }
    }

    @Test func `records that bring nothing are few`() throws {
        let empty: [(UInt8, [UInt8])] = [(23, []), (21, [1, 90]), (22, [24, 0, 0, 1, 0])]
        for (type, content) in empty {
            var ends = Ends()
            var records: [UInt8] = []
            for _ in 0..<RecordSession.fruitlessLimit {
                records += ends.record(type, content)
                if type == 22 { ends.peer.changeKeys() }
            }
            #expect(try ends.receive(records) == [])
            #expect(try ends.receive(ends.data([1])) == [1])
            #expect(try ends.receive(ends.record(23, [])) == [])
            for _ in 1..<RecordSession.fruitlessLimit { #expect(try ends.receive(ends.record(23, [])) == []) }
            #expect(refusal(&ends, ends.record(23, [])) == .unexpectedMessage)
        }
    }

    @Test func `garbage is refused and never read`() throws {
        var generator = SystemRandomNumberGenerator()
        let seed = UInt64.random(in: 0 ... .max, using: &generator)
        var state = seed
        for _ in 0..<200 {
            var ends = Ends()
            var garbage: [UInt8] = [23, 3, 3, 0, 40]
            for _ in 0..<40 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                garbage.append(UInt8(state >> 56))
            }
            #expect(refusal(&ends, garbage) == .badRecordMAC, "seed \(seed)")
        }
    }
}
