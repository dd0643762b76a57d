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

    @Test func `who is right every other time mostly sleeps`() {
        var lookout = Lookout()
        _ = looks(&lookout, sleeps: 1_000) { $0.isMultiple(of: 2) }
        #expect(looks(&lookout, sleeps: 1_000) { $0.isMultiple(of: 2) } < 100)
    }

    @Test func `it comes back when looking pays again`() {
        var lookout = Lookout()
        _ = looks(&lookout, sleeps: 1_000) { _ in false }
        _ = looks(&lookout, sleeps: 200) { _ in true }
        #expect(looks(&lookout, sleeps: 100) { _ in true } == 100)
    }
}
