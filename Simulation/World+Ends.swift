import Gateway
import PushCore
import TestSupport
import Wire

// How things end: gracefully, and quietly.
extension World {
    /// Turns of everything that a process or a chapter gets to come to its end.
    private static let patience = 6_000

    /// A round in which nothing new happens but what was begun goes on.
    private func round(milliseconds: Int64) throws {
        clock.advance(by: .milliseconds(milliseconds))
        for link in devices.compactMap(\.link) + providers.compactMap(\.link) { link.deliver() }
        for loop in 0..<circumstances.config.threads { try turn(loop) }
        try turnStore()
        try look()
    }

    /// The gateway is told to end: it drains, writes what it has, and another takes its place.
    func endGracefully() throws {
        note("drain")
        heldStoreTurns = 0
        for step in HandTurnedGateway.Farewell.allCases {
            gateway.drain(step)
            for _ in 0..<random.pick([2, 4, 20]) { try round(milliseconds: Int64.random(in: 0...60, using: &random)) }
        }
        gateway.stopStore()
        try model.written(disk.takeWritten(), at: now)
        try restart(losingLast: true)
    }

    /// All that can fail stops failing, all devices come and take what there is: then nothing is left.
    func settle() throws {
        note("settle")
        heldStoreTurns = 0
        disk.fail(next: 0)
        for device in devices { try deafen(device, false) }
        var left = Self.patience
        var calm = 0
        while calm < 8 {
            left -= 1
            guard left > 0 else { break }
            try bringBack(all: left % 64 == 0)
            try round(milliseconds: left % 8 == 0 ? 400 : 25)
            calm = isCalm ? calm + 1 : 0
        }
        for _ in 1...2 { try model.checkAll(gateway) }
        try model.checkEnd(gateway)
    }

    private var isCalm: Bool {
        devices.allSatisfy { gateway.heldCount(of: $0.credentials.id) == 0 && $0.inbox.isEmpty }
            && providers.allSatisfy(\.open.isEmpty) && model.isStoreClean
    }

    private func bringBack(all mayFilter: Bool) throws {
        for device in devices {
            guard device.link != nil else {
                try connect(device)
                continue
            }
            guard device.isConnected else { continue }
            for received in device.inbox { acknowledge(device, received, status: 0) }
            device.inbox = []
            if mayFilter {
                device.say(.setState(1))
                enableAll(device)
            }
        }
    }
}
