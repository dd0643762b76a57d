import Testing

@testable import TLSRecord

@Suite struct AlertTests {
    @Test func `the peer's goodbye ends its direction only`() throws {
        var ends = Ends()
        let records = ends.data([1]) + ends.record(21, [1, 0]) + ends.data([2])
        #expect(try ends.receive(records) == [1])
        let isPeerClosed = ends.session.isPeerClosed
        #expect(isPeerClosed)
        #expect(try ends.receive([0, 0, 0]) == [])
        try ends.send([3])
        #expect(try ends.heard() == [3])
    }

    @Test func `our goodbye ends our direction only`() throws {
        var ends = Ends()
        ends.session.close(into: &ends.outgoing)
        #expect(try ends.heard() == [])
        let isClosed = ends.listener.isPeerClosed
        #expect(isClosed)
        #expect(alert { () throws(RecordError) in try ends.send([1]) } == .closed)
        #expect(try ends.receive(ends.data([1])) == [1])
        ends.session.close(into: &ends.outgoing)
        #expect(ends.outgoing.isEmpty)
    }

    @Test func `any other alert ends both, whatever its level, and is not answered`() throws {
        for (level, code) in [(2, 20), (1, 20), (2, 255), (0, 1), (1, 100)] as [(UInt8, UInt8)] {
            var ends = Ends()
            let told = alert { () throws(RecordError) in _ = try ends.receive(ends.record(21, [level, code])) }
            #expect(told == .refused(Alert(rawValue: code)))
            #expect(ends.outgoing.isEmpty)
            #expect(alert { () throws(RecordError) in try ends.send([1]) } == .closed)
        }
    }

    @Test func `an alert is two bytes in one record`() throws {
        let contents: [([UInt8], Alert)] = [
            ([], .unexpectedMessage), ([1], .decodeError), ([1, 0, 1], .decodeError), ([1, 0, 1, 0], .decodeError),
        ]
        for (content, expected) in contents {
            var ends = Ends()
            let told = alert { () throws(RecordError) in _ = try ends.receive(ends.record(21, content)) }
            #expect(told == .broken(expected))
        }
    }
}
