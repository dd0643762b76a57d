import PushCore

/// Devices whose sessions end by a fault again and again: for a while they are refused before their home does anything
/// for them, so that one broken device cannot keep a loop busy with its returns.
struct Quarantine {
    /// What is remembered of one device.
    private struct Record {
        /// Faults since `start`.
        var faults: Int
        var start: Moment
        var until: Moment?
    }

    private var records: [DeviceID: Record] = [:]

    /// A session of the device ended by a fault. True if it is refused from now on.
    mutating func fault(_ device: DeviceID, at now: Moment) -> Bool {
        if records.count >= Limits.faultyDevices { records = records.filter { !isOver($0.value, at: now) } }
        var record = records[device] ?? Record(faults: 0, start: now)
        if isOver(record, at: now) { record = Record(faults: 0, start: now) }
        record.faults += 1
        let isEnough = record.faults >= Limits.deviceFaults
        if isEnough { record.until = now + Limits.quarantine }
        // With no room for one more it stays free: others do not pay for it.
        if records[device] != nil || records.count < Limits.faultyDevices { records[device] = record }
        return isEnough
    }

    /// How long the device is still refused; nil if it is not.
    mutating func timeLeft(_ device: DeviceID, at now: Moment) -> Interval? {
        guard !records.isEmpty, let until = records[device]?.until else { return nil }
        // A clock that was set back counts as time that has passed.
        guard until > now, until - now <= Limits.quarantine else {
            records[device] = nil
            return nil
        }
        return until - now
    }

    private func isOver(_ record: Record, at now: Moment) -> Bool {
        record.until.map { $0 <= now } ?? (now - record.start > Limits.deviceFaultSpan)
    }
}
