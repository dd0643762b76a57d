import PushCore
import Reactor
import TestSupport
import Testing

@testable import Gateway

@Suite struct AddressFailuresTests {
    private let address = Caller(PeerAddress([192, 0, 2, 1])!, isDevice: true)
    private let now = Sample.now

    private func failed(_ count: Int, limit: Int = 3) -> AddressFailures {
        var failures = AddressFailures(limit: limit)
        for _ in 0..<count { _ = failures.add(address, at: now) }
        return failures
    }

    @Test func `at the limit an address is dropped for a while, and that is told once`() {
        var failures = failed(2)
        #expect(!failures.isDropped(address, at: now))
        let told = (0..<3).map { _ in failures.add(address, at: now) }
        #expect(told == [true, false, false])
        #expect(failures.isDropped(address, at: now + Limits.penalty - .milliseconds(1)))
        #expect(!failures.isDropped(address, at: now + Limits.penalty))
    }

    @Test func `others are not dropped`() {
        #expect(!failed(9).isDropped(Caller(PeerAddress([192, 0, 2, 2])!, isDevice: true), at: now))
    }

    @Test func `at the other door it is not dropped`() {
        #expect(!failed(9).isDropped(Caller(PeerAddress([192, 0, 2, 1])!, isDevice: false), at: now))
    }

    @Test func `of a dropped one a connection is tried now and then`() {
        var failures = failed(3)
        let moments = [0, 4_999, 5_000, 5_001, 10_000, 60_000, 60_001].map { now + .milliseconds($0) }
        let refused = moments.map { failures.refuses(address, at: $0) }
        #expect(refused == [true, true, false, true, false, false, false])
    }

    @Test func `for a while after the last that was in has left, nobody is dropped`() {
        var failures = failed(2)
        failures.depart(address, at: now)
        let told = (0..<9).map { failures.add(address, at: now + .seconds($0)) }
        #expect(!told.contains(true))
        let late = (0..<3).map { _ in failures.add(address, at: now + Limits.welcome) }
        #expect(late == [false, false, true])
    }

    @Test func `a trial that fails does not end what its address is dropped for`() {
        var failures = failed(2)
        let dropped = now + Limits.failureSpan - .seconds(1)
        let told = failures.add(address, at: dropped)
        let again = failures.add(address, at: dropped + Limits.probation)
        #expect(told && !again)
        #expect(failures.isDropped(address, at: dropped + Limits.penalty - .milliseconds(1)))
    }

    @Test func `failures that lie far apart do not add up`() {
        var failures = failed(2)
        let told = failures.add(address, at: now + Limits.failureSpan + .milliseconds(1))
        #expect(!told && !failures.isDropped(address, at: now + Limits.failureSpan + .milliseconds(1)))
    }

    @Test func `one that gets in clears its address`() {
        var failures = failed(3)
        failures.clear(address)
        #expect(!failures.isDropped(address, at: now) && failures.count == 0)
    }

    @Test(arguments: [[127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1]])
    func `this machine is never dropped`(_ bytes: [UInt8]) {
        let address = Caller(PeerAddress(bytes)!, isDevice: true)
        var failures = AddressFailures(limit: 1)
        let told = failures.add(address, at: now)
        #expect(!told && !failures.isDropped(address, at: now))
    }

    @Test func `a limit of 0 drops nobody`() {
        let failures = failed(100, limit: 0)
        #expect(!failures.isDropped(address, at: now) && failures.count == 0)
    }

    @Test func `a clock that is set back lets everyone in`() {
        #expect(!failed(3).isDropped(address, at: now - .seconds(3600)))
    }

    @Test func `however many addresses fail, a bounded number is remembered, and the last of them`() {
        var failures = AddressFailures(limit: 1)
        var last = address
        for number in 0..<UInt32(3 * Limits.rememberedFailures) {
            let bytes = [10] + (0..<3).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            last = Caller(PeerAddress(bytes)!, isDevice: true)
            _ = failures.add(last, at: now)
        }
        #expect(failures.count <= Limits.rememberedFailures && failures.isDropped(last, at: now))
    }
}
