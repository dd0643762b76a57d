import Reactor
import Testing

@Suite struct LookoutTests {
    /// How many of `sleeps` it would have looked before, when each look finds what `finds` says.
    private func looks(_ lookout: inout Lookout, sleeps: Int, finds: (Int) -> Bool) -> Int {
        var looks = 0
        for sleep in 0..<sleeps where lookout.shouldLook() {
            looks += 1
            lookout.looked(found: finds(sleep))
        }
        return looks
    }

    @Test func `who finds something each time always looks`() {
        var lookout = Lookout()
        #expect(looks(&lookout, sleeps: 1_000) { _ in true } == 1_000)
    }

    @Test func `who finds nothing looks less and less often, but never stops`() {
        var lookout = Lookout()
        _ = looks(&lookout, sleeps: 1_000) { _ in false }
        #expect(looks(&lookout, sleeps: 6_500) { _ in false } == 100)
    }

    @Test(arguments: [(80, 0...2_000), (98, 8_000...10_000)])
    func `who is right four times in five mostly sleeps, and who nearly always is looks`(
        _ percent: UInt64,
        _ expected: ClosedRange<Int>
    ) {
        var lookout = Lookout()
        // Xorshift, because what is found must not keep time with the pauses.
        var random: UInt64 = 1
        let found = looks(&lookout, sleeps: 10_000) { _ in
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return random % 100 < percent
        }
        #expect(expected.contains(found))
    }

    @Test func `it comes back when looking pays again`() {
        var lookout = Lookout()
        _ = looks(&lookout, sleeps: 1_000) { _ in false }
        _ = looks(&lookout, sleeps: 200) { _ in true }
        #expect(looks(&lookout, sleeps: 100) { _ in true } == 100)
    }
}
