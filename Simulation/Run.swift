import Gateway
import PushCore

/// One run from one seed: what it did, and what it found.
package struct Run {
    /// What a run is to be.
    package struct Plan {
        /// All that is random follows from it.
        package var seed: UInt64
        /// The most that are taken; a finding ends it sooner.
        package var steps: Int
        /// Devices that take part.
        package var deviceCount: Int
        /// The name of a fault that is planted; nil for none.
        package var fault: String?

        package init(seed: UInt64, steps: Int, deviceCount: Int = 24, fault: String? = nil) {
            (self.seed, self.steps, self.deviceCount, self.fault) = (seed, steps, deviceCount, fault)
        }
    }

    /// Steps that were taken.
    package private(set) var steps = 0
    /// Pushes that were offered.
    package private(set) var pushes = 0
    /// Equal for two runs in which the same has happened.
    package private(set) var digest: UInt64 = 0
    /// What is wrong, in one sentence, and what the device's last moments were; empty when nothing is.
    package private(set) var findings: [String] = []

    /// How often what has happened.
    package private(set) var counts: [String: Int] = [:]

    /// Steps after which everything comes to its end once, and other circumstances begin.
    private static let chapter = 10_000

    package init(_ plan: Plan) throws {
        let world = try World(seed: plan.seed, identity: Identity(devices: plan.deviceCount)) { config in
            plant(plan.fault, in: &config)
        }
        do {
            while steps < plan.steps {
                try world.takeStep()
                steps += 1
                guard steps % Self.chapter == 0 || steps == plan.steps else { continue }
                pushes += world.model.pushes.count
                try world.settle()
                if steps < plan.steps { try world.beginChapter() }
            }
        } catch let complaint as Complaint {
            findings = ["step \(world.step): \(complaint)"] + world.trace.lines(of: complaint.device, complaint.serial)
        }
        digest = world.trace.digest
        counts = world.trace.counts
    }
}

#if PLANTED_FAULTS
    /// The names of the faults that can be planted.
    package let plantedFaults: [String] = PlantedFault.allCases.map(\.rawValue)

    private func plant(_ name: String?, in config: inout Config) {
        config.fault = name.flatMap(PlantedFault.init)
    }
#else
    /// The names of the faults that can be planted: none, for they are not in this program.
    package let plantedFaults: [String] = []

    private func plant(_ name: String?, in config: inout Config) {}
#endif
