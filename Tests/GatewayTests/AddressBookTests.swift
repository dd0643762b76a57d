import PushCore
import Reactor
import TestSupport
import Testing

@testable import Gateway

@Suite struct AddressBookTests {
    private let address = PeerAddress([192, 0, 2, 1])!

    @Test func `an address has as many connections as it may`() {
        let book = AddressBook(connections: 2, failures: 0)
        let verdicts = (0..<3).map { _ in book.admit(address, at: Sample.now) }
        #expect(verdicts == [.admitted, .admitted, .tooMany])
        book.left(address)
        #expect(book.admit(address, at: Sample.now) == .admitted)
        #expect(book.admit(PeerAddress([192, 0, 2, 2])!, at: Sample.now) == .admitted)
    }

    @Test func `a limit of 0 is none`() {
        let book = AddressBook(connections: 0, failures: 0)
        for _ in 0..<10_000 { #expect(book.admit(address, at: Sample.now) == .admitted) }
    }

    @Test func `an IPv6 network counts as one address`() {
        let book = AddressBook(connections: 1, failures: 1)
        let start: [UInt8] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 1]
        let (one, other) = (
            PeerAddress(start + [0, 0, 0, 0, 0, 0, 0, 1])!, PeerAddress(start + [9, 0, 0, 0, 0, 0, 0, 2])!
        )
        #expect(book.admit(one, at: Sample.now) == .admitted && book.admit(other, at: Sample.now) == .tooMany)
        #expect(book.failed(one, at: Sample.now) && book.admit(other, at: Sample.now) == .dropped)
        book.succeeded(other)
        #expect(book.admit(one, at: Sample.now) == .tooMany)
    }
}
