import PushCore
import Testing

@testable import Gateway

/// docs/operations.md, how a device's opening ends: quarantined.
@Suite struct QuarantineTests {
    private let start = Moment(seconds: 1_700_000_000)
    private var quarantine = Quarantine()

    @Test mutating func `enough faults in a short time keep a device out, and only it`() throws {
        let (broken, honest) = (try device(1), try device(2))
        #expect(faults(Limits.deviceFaults - 1, of: broken, at: start) == 0)
        #expect(timeLeft(broken, at: start) == nil)
        #expect(faults(1, of: broken, at: start) == 1)
        #expect(timeLeft(broken, at: start) == Limits.quarantine)
        #expect(timeLeft(honest, at: start) == nil)
    }

    @Test mutating func `it is let in again when its time is over, with nothing against it`() throws {
        let broken = try device(1)
        #expect(faults(Limits.deviceFaults, of: broken, at: start) == 1)
        let later = start + Limits.quarantine
        #expect(timeLeft(broken, at: later) == nil)
        #expect(faults(Limits.deviceFaults - 1, of: broken, at: later) == 0)
    }

    @Test mutating func `faults far apart do not add up`() throws {
        let broken = try device(1)
        let apart = Limits.deviceFaultSpan + .seconds(1)
        var now = start
        for _ in 0..<Limits.deviceFaults * 2 {
            #expect(faults(1, of: broken, at: now) == 0)
            now = now + apart
        }
    }

    @Test mutating func `it remembers no more than it may, and forgets what is over`() throws {
        for number in 0..<Limits.faultyDevices { _ = quarantine.fault(try device(number), at: start) }
        let late = try device(Limits.faultyDevices)
        #expect(faults(Limits.deviceFaults * 2, of: late, at: start) == 0)
        let later = start + Limits.deviceFaultSpan + .seconds(1)
        #expect(faults(Limits.deviceFaults, of: late, at: later) == 1)
    }

    /// How many of so many faults kept the device out.
    private mutating func faults(_ count: Int, of device: DeviceID, at now: Moment) -> Int {
        var hits = 0
        for _ in 0..<count where quarantine.fault(device, at: now) { hits += 1 }
        return hits
    }

    private mutating func timeLeft(_ device: DeviceID, at now: Moment) -> Interval? {
        quarantine.timeLeft(device, at: now)
    }

    private func device(_ number: Int) throws -> DeviceID {
        let digits = String(number, radix: 16)
        return try #require(DeviceID(hex: String(repeating: "0", count: 16 - digits.count) + digits))
    }
}
