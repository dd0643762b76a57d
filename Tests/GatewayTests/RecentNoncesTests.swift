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

    @Test func `past the bound none is taken until one is over`() {
        let recent = Recent()
        for random in 0..<Limits.rememberedNonces {
            #expect(recent.admit(nonce(UInt64(random), at: random == 0 ? 0 : 1), at: Sample.now))
        }
        #expect(!recent.admit(nonce(9_999, at: 1), at: Sample.now))
        let later = Sample.now + Limits.nonceTolerance + Limits.nonceTolerance + .milliseconds(500)
        #expect(recent.admit(nonce(9_999, at: 600), at: later))
    }
}
