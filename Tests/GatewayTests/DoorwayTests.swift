import PushCore
import Reactor
import TestSupport
import Testing

@testable import Gateway

@Suite struct DoorwayTests {
    /// One whose answers may stand in an expectation.
    private final class Door {
        private var doorway: Doorway
        init(placeLimit: Int) { doorway = Doorway(placeLimit: placeLimit) }

        var placeCount: Int { doorway.placeCount }
        var count: Int { doorway.count }
        func silentCount(of network: PeerAddress) -> Int { doorway.silentCount(of: network) }
        func hasPlace(_ token: UInt64) -> Bool { doorway.hasPlace(token) }
        func stalled(at now: Moment) -> [UInt64] { doorway.stalled(at: now) }
        func arrive(_ token: UInt64, from network: PeerAddress, at now: Moment) {
            doorway.arrive(token, from: network, at: now)
        }
        func speak(_ token: UInt64, from network: PeerAddress = here, at now: Moment) -> Bool {
            doorway.speak(token, from: network, at: now)
        }
        func tokens(of network: PeerAddress) -> [UInt64] { doorway.tokens(of: network) }
        func overlong(at now: Moment) -> UInt64? { doorway.overlong(at: now) }
        func excess() -> UInt64? { doorway.excess() }
        func hear(_ token: UInt64, at now: Moment) { doorway.hear(token, at: now) }
        func leave(_ token: UInt64) { doorway.leave(token) }
        func next(at now: Moment) -> UInt64? { doorway.next(at: now) }
        func silentTooLong(of network: PeerAddress? = nil, at now: Moment) -> UInt64? {
            doorway.silentTooLong(of: network, at: now)
        }
    }

    private static let here = PeerAddress([192, 0, 2, 1])!
    private static let there = PeerAddress([192, 0, 2, 2])!
    private static let elsewhere = PeerAddress([192, 0, 2, 3])!
    private static let loopback = PeerAddress([127, 0, 0, 1])!
    private let now = Sample.now

    /// A doorway with this many places, all taken by tokens from 100 of this machine.
    private func crowded(places: Int, at now: Moment) -> Door {
        let doorway = Door(placeLimit: places)
        for token in 100..<100 + UInt64(places) { _ = doorway.speak(token, from: Self.loopback, at: now) }
        return doorway
    }

    @Test func `the silent take no place`() {
        let doorway = Door(placeLimit: 1)
        for token in 0..<64 { doorway.arrive(UInt64(token), from: Self.here, at: now) }
        #expect(doorway.placeCount == 0 && doorway.count == 64)
        #expect(doorway.speak(7, at: now) && doorway.placeCount == 1 && doorway.count == 63)
    }

    @Test func `past the places those that speak wait in their order`() {
        let doorway = crowded(places: 2, at: now)
        for token in [3, 1, 2] as [UInt64] { #expect(!doorway.speak(token, at: now)) }
        #expect(doorway.next(at: now) == nil)
        doorway.leave(100)
        #expect(doorway.next(at: now) == 3 && doorway.next(at: now) == nil && doorway.placeCount == 2)
        doorway.leave(1)
        doorway.leave(101)
        #expect(doorway.next(at: now) == 2 && doorway.count == 0)
    }

    @Test func `one that has a place keeps it when it speaks again`() {
        let doorway = crowded(places: 1, at: now)
        #expect(doorway.speak(100, at: now) && doorway.placeCount == 1)
    }

    @Test func `whoever was silent longest makes way, and not before it was so for a while`() {
        let doorway = Door(placeLimit: 1)
        for token in 0..<3 as Range<UInt64> { doorway.arrive(token, from: Self.here, at: now + .seconds(Int64(token))) }
        #expect(doorway.silentTooLong(at: now + .milliseconds(999)) == nil)
        #expect(doorway.silentTooLong(at: now + Limits.silence) == 0)
        doorway.leave(0)
        #expect(doorway.silentTooLong(at: now + Limits.silence) == nil)
        #expect(doorway.silentTooLong(at: now + .seconds(5)) == 1)
    }

    @Test func `an address is told its own silent ones`() {
        let doorway = Door(placeLimit: 1)
        doorway.arrive(1, from: Self.there, at: now)
        for token in 2..<5 as Range<UInt64> { doorway.arrive(token, from: Self.here, at: now) }
        #expect(doorway.silentCount(of: Self.here) == 3 && doorway.silentCount(of: Self.there) == 1)
        #expect(doorway.silentTooLong(of: Self.here, at: now + Limits.silence) == 2)
        for token in 1..<5 as Range<UInt64> { doorway.leave(token) }
        #expect(doorway.silentCount(of: Self.here) == 0 && doorway.count == 0)
        #expect(doorway.silentTooLong(of: Self.here, at: now + Limits.silence) == nil)
    }

    @Test func `handshakes that stand still make way for as many as wait`() {
        let doorway = crowded(places: 3, at: now)
        let later = now + Limits.stalledHandshake
        #expect(doorway.stalled(at: later) == [])
        for token in [1, 2] as [UInt64] { _ = doorway.speak(token, at: now) }
        doorway.hear(101, at: now + .milliseconds(1))
        #expect(Set(doorway.stalled(at: later)) == [100, 102])
        #expect(doorway.stalled(at: later - .milliseconds(1)) == [])
    }

    @Test func `one network leaves a quarter of the places to others, this machine none`() {
        let doorway = Door(placeLimit: 8)
        let places = (0..<8 as Range<UInt64>).filter { doorway.speak($0, from: Self.here, at: now) }
        #expect(places.count == 6 && doorway.next(at: now) == nil)
        #expect(doorway.speak(8, from: Self.there, at: now) && doorway.speak(9, from: Self.loopback, at: now))
        #expect(crowded(places: 8, at: now).placeCount == 8)
        #expect(Door(placeLimit: 1).speak(0, from: Self.here, at: now))
    }

    @Test func `a free place is given to the network that has fewest, and in turns`() {
        let doorway = crowded(places: 3, at: now)
        for token in 0..<3 as Range<UInt64> { _ = doorway.speak(token, from: Self.here, at: now) }
        for token in 3..<5 as Range<UInt64> { _ = doorway.speak(token, from: Self.there, at: now) }
        for token in 100..<103 as Range<UInt64> { doorway.leave(token) }
        let given = (0..<3).compactMap { _ in doorway.next(at: now) }
        #expect(given == [0, 3, 1])
        doorway.leave(3)
        #expect(doorway.next(at: now) == 4)
    }

    @Test func `a handshake of who has most makes way after a while for one who has fewer by two`() {
        let doorway = Door(placeLimit: 4)
        for token in 0..<3 as Range<UInt64> { _ = doorway.speak(token, from: Self.here, at: now) }
        _ = doorway.speak(3, from: Self.there, at: now)
        #expect(!doorway.speak(4, from: Self.here, at: now) && doorway.overlong(at: now + .seconds(9)) == nil)
        #expect(!doorway.speak(5, from: Self.there, at: now + .seconds(1)))
        doorway.hear(0, at: now + .seconds(1))
        #expect(doorway.overlong(at: now + Limits.handshakeTurn - .milliseconds(1)) == nil)
        let oldest = doorway.overlong(at: now + Limits.handshakeTurn)
        #expect(oldest.map { $0 < 3 } == true)
        doorway.leave(oldest ?? 0)
        #expect(doorway.next(at: now + .seconds(2)) == 5 && doorway.overlong(at: now + .seconds(9)) == nil)
    }

    @Test func `of who has most waiting the youngest makes way, but not of this machine`() {
        let doorway = crowded(places: 1, at: now)
        for token in 0..<4 as Range<UInt64> { _ = doorway.speak(token, from: Self.here, at: now) }
        for token in 4..<6 as Range<UInt64> { _ = doorway.speak(token, from: Self.there, at: now) }
        for token in 6..<16 as Range<UInt64> { _ = doorway.speak(token, from: Self.loopback, at: now) }
        #expect(doorway.excess() == 3)
        for token in 1...3 as ClosedRange<UInt64> { doorway.leave(token) }
        #expect(doorway.excess() == 5)
        doorway.leave(5)
        #expect(doorway.excess() == nil)
    }

    @Test func `all of a network are found, whether silent, waiting or in a handshake`() {
        let doorway = Door(placeLimit: 1)
        for token in 0..<3 as Range<UInt64> { doorway.arrive(token, from: Self.here, at: now) }
        doorway.arrive(3, from: Self.there, at: now)
        for token in 0..<2 as Range<UInt64> { _ = doorway.speak(token, from: Self.here, at: now) }
        #expect(Set(doorway.tokens(of: Self.here)) == [0, 1, 2] && doorway.tokens(of: Self.there) == [3])
    }

    @Test func `whatever comes and goes, the counts hold`() {
        var random = SeededRandom(seed: 20)
        let networks = [Self.here, Self.there, Self.elsewhere, Self.loopback]
        let doorway = Door(placeLimit: 5)
        for step in 0..<20_000 as Range<Int64> {
            let (token, at) = (UInt64.random(in: 0..<40, using: &random), now + .milliseconds(step))
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                doorway.leave(token)
                doorway.arrive(token, from: Self.here, at: at)
            case 1: _ = doorway.speak(token, from: networks[Int(token % 4)], at: at)
            case 2: doorway.leave(token)
            default: _ = doorway.next(at: at)
            }
            #expect(doorway.placeCount <= 5 && doorway.count + doorway.placeCount <= 40)
        }
        for token in 0..<40 as Range<UInt64> { doorway.leave(token) }
        #expect(doorway.count == 0 && doorway.placeCount == 0 && doorway.silentCount(of: Self.here) == 0)
        #expect((0..<3 as Range<UInt64>).allSatisfy { doorway.speak($0, from: Self.here, at: now) })
    }
}
