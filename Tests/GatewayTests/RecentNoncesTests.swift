import PushCore
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite struct RecentNoncesTests {
    /// One whose answers may stand in an expectation.
    private final class Recent {
        private var nonces = RecentNonces()
        func admit(_ nonce: ConnectNonce, at now: Moment) -> Bool { nonces.admit(nonce, at: now) }
    }

    /// One made so many seconds after the sample's time.
    private func nonce(_ random: UInt64, at seconds: Int64 = 0) -> ConnectNonce {
        ConnectNonce(made: Sample.now + .seconds(seconds), random: random)
    }

    @Test func `each nonce counts once, however many came between`() {
        let recent = Recent()
        for random in 1...3 { #expect(recent.admit(nonce(UInt64(random)), at: Sample.now)) }
        for random in 1...3 { #expect(!recent.admit(nonce(UInt64(random)), at: Sample.now)) }
    }

    @Test func `the last is over while an older one is not`() {
        let recent = Recent()
        // The older one says that it was made later.
        #expect(recent.admit(nonce(1, at: 200), at: Sample.now) && recent.admit(nonce(2, at: -200), at: Sample.now))
        let later = Sample.now + Limits.nonceTolerance + Limits.nonceTolerance
        #expect(!recent.admit(nonce(1, at: 200), at: later))
        #expect(recent.admit(nonce(3, at: 600), at: later) && !recent.admit(nonce(1, at: 200), at: later))
    }

    @Test func `a device whose clock goes forward is never refused, and no nonce is taken twice`() {
        let recent = Recent()
        let nonces = (0..<Int64(3 * Limits.rememberedNonces)).map { nonce(UInt64($0), at: $0 / 10) }
        for (index, next) in nonces.enumerated() {
            #expect(recent.admit(next, at: Sample.now), "\(index)")
            #expect(!recent.admit(nonces[index / 2], at: Sample.now), "\(index)")
        }
        for old in nonces { #expect(!recent.admit(old, at: Sample.now)) }
    }

    @Test func `among many those that overtake each other are taken`() {
        let recent = Recent()
        for second in 0..<Int64(2 * Limits.rememberedNonces) {
            // Each pair comes the wrong way round.
            #expect(recent.admit(nonce(UInt64(second), at: second ^ 1), at: Sample.now))
        }
    }

    @Test func `past the bound what is older than all that are remembered is refused`() {
        let recent = Recent()
        for random in 0...Limits.rememberedNonces {
            #expect(recent.admit(nonce(UInt64(random)), at: Sample.now) == (random < Limits.rememberedNonces))
        }
        #expect(!recent.admit(nonce(9_999, at: -1), at: Sample.now))
        #expect(recent.admit(nonce(9_999, at: 1), at: Sample.now))
    }

    @Test func `what was refused changes nothing`() {
        let recent = Recent()
        for random in 0..<Limits.rememberedNonces { #expect(recent.admit(nonce(UInt64(random)), at: Sample.now)) }
        for _ in 0..<3 { #expect(!recent.admit(nonce(9_999, at: -1), at: Sample.now)) }
        for random in 0..<Limits.rememberedNonces { #expect(!recent.admit(nonce(UInt64(random)), at: Sample.now)) }
    }
}
