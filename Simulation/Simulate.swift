import BenchmarkSupport
import Reactor

/// `scripts/simulate`: runs from given or fresh seeds, and says what they found.
@main
struct Simulate {
    private struct Found: Error, CustomStringConvertible {
        let description: String
    }

    static func main() {
        do { try run() } catch { Terminal.fail("simulate", error) }
    }

    private static func run() throws {
        let options = try Options(
            CommandLine.arguments.dropFirst(),
            valued: ["seed", "steps", "seconds", "plant", "devices"],
            flags: ["planted", "counts"]
        )
        let steps = try options.number("steps", 200_000, in: 1...Int.max)
        if options.has("planted") { return try findPlanted(steps) }
        var plan = Run.Plan(seed: 0, steps: steps, fault: options.text("plant"))
        plan.deviceCount = try options.number("devices", 24, in: 1...1_000)
        if let fault = plan.fault, !plantedFaults.contains(fault) {
            throw OptionError("there is no fault \(fault); there are: \(plantedFaults.joined(separator: ", "))")
        }
        let seconds = try options.number("seconds", 0, in: 0...86_400)
        guard seconds > 0 else {
            plan.seed = UInt64(try options.number("seed", Int(freshSeed()), in: 0...Int.max))
            return try report(plan, tellsCounts: options.has("counts"))
        }
        // Short runs, because each draws other circumstances.
        plan.steps = try options.number("steps", 20_000, in: 1...Int.max)
        let end = Clock.monotonic() + Int64(seconds) * 1_000_000_000
        while Clock.monotonic() < end {
            plan.seed = freshSeed()
            try report(plan)
        }
    }

    /// Runs once and says how it went.
    private static func report(_ plan: Run.Plan, tellsCounts: Bool = false) throws {
        let start = Clock.monotonic()
        let run = try Run(plan)
        let seconds = (Clock.monotonic() - start) / 100_000_000
        let digest = String(run.digest, radix: 16)
        guard run.findings.isEmpty else {
            for line in run.findings { Terminal.line(line) }
            let again = "scripts/simulate --seed \(plan.seed) --steps \(run.steps + 1) --devices \(plan.deviceCount)"
            throw Found(description: "seed \(plan.seed) found something; again: \(again)")
        }
        Terminal.line(
            "seed \(plan.seed): \(run.steps) steps, \(run.pushes) pushes, nothing found "
                + "(digest \(digest), \(seconds / 10).\(seconds % 10) s)"
        )
        guard tellsCounts else { return }
        for (what, count) in run.counts.sorted(by: { $0.key < $1.key }) { Terminal.line("  \(what): \(count)") }
    }

    /// Each fault that can be planted has to be found, from one seed after the other.
    private static func findPlanted(_ steps: Int) throws {
        guard !plantedFaults.isEmpty else { throw OptionError("this program was built without faults to plant") }
        var missed: [String] = []
        for fault in plantedFaults {
            var (seed, taken): (UInt64, Int) = (1, 0)
            var finding: String?
            while finding == nil, taken < steps {
                let run = try Run(Run.Plan(seed: seed, steps: min(20_000, steps - taken), fault: fault))
                finding = run.findings.first
                taken += run.steps
                seed += 1
            }
            Terminal.line("\(fault): " + (finding.map { "found after \(taken) steps: \($0)" } ?? "NOT FOUND"))
            if finding == nil { missed.append(fault) }
        }
        guard missed.isEmpty else { throw Found(description: "not found: \(missed.joined(separator: ", "))") }
    }

    private static func freshSeed() -> UInt64 { UInt64.random(in: 0...UInt64(Int.max)) }
}
