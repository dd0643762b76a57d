import Testing

@testable import simulate

/// The simulation itself: that a seed is worth keeping, and that it sees what it is for.
@Suite struct RunTests {
    @Test func `a seed reproduces a run`() throws {
        let plan = Run.Plan(seed: 7, steps: 400, deviceCount: 4)
        let (first, second) = (try Run(plan), try Run(plan))
        #expect(first.digest == second.digest)
        #expect(first.pushes == second.pushes && first.pushes > 0)
    }

    @Test func `another seed is another run`() throws {
        let first = try Run(Run.Plan(seed: 7, steps: 100, deviceCount: 4))
        let second = try Run(Run.Plan(seed: 8, steps: 100, deviceCount: 4))
        #expect(first.digest != second.digest)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `a gateway without faults keeps its promises`(_ seed: UInt64) throws {
        let run = try Run(Run.Plan(seed: seed, steps: 300, deviceCount: 4))
        #expect(run.findings == [])
        #expect(run.steps == 300)
    }
}
