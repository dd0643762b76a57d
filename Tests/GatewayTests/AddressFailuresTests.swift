import PushCore
import Reactor
import TestSupport
import Testing

@testable import Gateway

@Suite struct AddressFailuresTests {
    private let address = PeerAddress([192, 0, 2, 1])!
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
        #expect(!failed(9).isDropped(PeerAddress([192, 0, 2, 2])!, at: now))
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
        let address = PeerAddress(bytes)!
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
            last = PeerAddress([10] + (0..<3).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })!
            _ = failures.add(last, at: now)
        }
        #expect(failures.count <= Limits.rememberedFailures && failures.isDropped(last, at: now))
    }
}
