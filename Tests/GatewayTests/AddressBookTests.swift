import PushCore
import Reactor
import TestSupport
import Testing

@testable import Gateway

@Suite struct AddressBookTests {
    private let now = Sample.now
    private let device = Caller(PeerAddress([192, 0, 2, 1])!, isDevice: true)
    private let provider = Caller(PeerAddress([192, 0, 2, 1])!, isDevice: false)
    private let neighbour = Caller(PeerAddress([192, 0, 2, 2])!, isDevice: true)

    private func book(_ connections: Int = 10_000, perAddress: Int = 0, failures: Int = 0) -> AddressBook {
        AddressBook(AddressBook.Bounds(connections: connections, perAddress: perAddress, failures: failures))
    }

    @Test func `there are as many connections as there may be`() {
        let book = book(3)
        let entered = (0..<4).map { _ in book.enter() }
        #expect(entered == [true, true, true, false])
        book.leave(nil, at: now)
        #expect(book.enter() && !book.enter())
    }

    @Test func `an address has as many connections as it may, at both doors`() {
        let book = book(perAddress: 2)
        let verdicts = [device, provider, device].map { book.admit($0, at: now) }
        #expect(verdicts == [.admitted, .admitted, .tooMany])
        book.leave(device, at: now)
        #expect(book.admit(device, at: now) == .admitted && book.admit(neighbour, at: now) == .admitted)
        book.dismiss(device)
        #expect(book.admit(device, at: now) == .admitted)
    }

    @Test func `a limit of 0 is none`() {
        let book = book()
        for _ in 0..<10_000 { #expect(book.admit(device, at: now) == .admitted) }
    }

    @Test func `an IPv6 network counts as one address`() {
        let book = book(perAddress: 1, failures: 1)
        let start: [UInt8] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 1]
        let one = Caller(PeerAddress(start + [0, 0, 0, 0, 0, 0, 0, 1])!, isDevice: true)
        let other = Caller(PeerAddress(start + [9, 0, 0, 0, 0, 0, 0, 2])!, isDevice: true)
        #expect(book.admit(one, at: now) == .admitted && book.admit(other, at: now) == .tooMany)
        #expect(book.failed(one, at: now) && book.admit(other, at: now) == .dropped)
        book.succeeded(other)
        #expect(book.admit(one, at: now) == .tooMany)
    }

    @Test func `what fails at one door is not dropped at the other`() {
        let book = book(failures: 1)
        #expect(book.failed(device, at: now))
        #expect(book.admit(device, at: now) == .dropped && book.admit(provider, at: now) == .admitted)
    }

    @Test func `while one of an address is in, and soon after, it is not dropped`() {
        let book = book(failures: 1)
        for _ in 0..<2 {
            #expect(book.admit(device, at: now) == .admitted)
            book.succeeded(device)
        }
        book.leave(device, wasIn: true, at: now)
        #expect(!book.failed(device, at: now + .days(1)))
        book.leave(device, wasIn: true, at: now + .days(1))
        #expect(!book.failed(device, at: now + .days(1) + Limits.welcome - .seconds(1)))
        #expect(book.failed(device, at: now + .days(1) + Limits.welcome))
        #expect(book.failed(provider, at: now), "a provider was never in")
    }

    @Test func `one that is tried while its address is dropped, and gets in, ends that`() {
        let book = book(failures: 1)
        #expect(book.failed(device, at: now) && book.admit(device, at: now) == .dropped)
        #expect(book.admit(device, at: now + Limits.probation) == .admitted)
        #expect(book.admit(device, at: now + Limits.probation) == .dropped)
        book.succeeded(device)
        #expect(book.admit(device, at: now + Limits.probation) == .admitted)
        #expect(!book.failed(device, at: now + Limits.probation))
    }
}
