import Gateway
import PushCore
import TestSupport

/// What is decided once for a chapter of a run: the operator's settings, and how often what happens. Some things never
/// happen in a chapter, so that others come further.
struct Circumstances {
    /// What may happen in a step.
    enum Action: Int, CaseIterable {
        case push, burst, acknowledge, refuse, connect, leave, cut, deafen, filter, wake, askToken, unregister
        case keepAlive, reconnectProvider, pass, passLong, failStore, holdStore, revoke, crash, restart
    }

    let config: Config
    private let weights: [Int]
    private let total: Int

    private static let usual: [Action: Int] = [
        .push: 300, .burst: 10, .acknowledge: 300, .refuse: 4, .connect: 60, .leave: 8, .cut: 8, .deafen: 3,
        .filter: 20, .wake: 20, .askToken: 10, .unregister: 2, .keepAlive: 5, .reconnectProvider: 3, .pass: 60,
        .passLong: 3, .failStore: 4, .holdStore: 4, .revoke: 2, .crash: 1, .restart: 1,
    ]

    /// `change` has the last word on the settings.
    init(_ random: inout SeededRandom, _ change: (inout Config) -> Void) {
        var config = Config()
        config.threads = random.pick([1, 2, 3])
        config.queueMode = random.pick([.queue, .queue, .apple])
        config.queueLimit = random.pick([1, 3, 10, 100])
        config.deliveryWindow = random.pick([1, 2, 8, 32])
        config.deliveryBacklog = random.pick([1, 3, 20, 1000])
        config.deliveryAckTimeout = random.pick([.seconds(2), .seconds(10), .seconds(60)])
        config.deliveryLowPriorityDelay = random.pick([.seconds(1), .seconds(30)])
        config.deviceTLSDetach = !random.once(in: 4)
        config.deviceTLSResume = !random.once(in: 4)
        config.limitsConnections = 10_000
        change(&config)
        self.config = config
        weights = Action.allCases.map { action in
            let weight = Self.usual[action] ?? 1
            // What nothing would happen without is always there.
            let isNeeded = [.push, .acknowledge, .connect, .pass].contains(action)
            if !isNeeded, random.once(in: 6) { return 0 }
            return max(1, weight * random.pick([1, 2, 4]) / 2)
        }
        total = weights.reduce(0, +)
    }

    func next(_ random: inout SeededRandom) -> Action {
        var number = Int.random(in: 0..<total, using: &random)
        for action in Action.allCases {
            number -= weights[action.rawValue]
            if number < 0 { return action }
        }
        preconditionFailure("the weights sum up to their total")
    }
}
