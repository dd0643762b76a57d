/// What has happened in a run: a digest of all of it, and the last of it in words.
struct Trace {
    /// One thing that happened.
    struct Entry {
        let step: Int
        let milliseconds: Int64
        /// -1 for what concerns no device.
        let device: Int
        let what: StaticString
        let first: Int
        let second: Int
    }

    /// Equal for two runs in which the same has happened (FNV-1a).
    private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    /// How often what has happened.
    var counts: [String: Int] { Dictionary(counted.values.map { ("\($0.what)", $0.count) }, uniquingKeysWith: +) }
    /// By the address of the words, which is where they stand in the program.
    private var counted: [UInt: (what: StaticString, count: Int)] = [:]
    private var last: [Entry] = []
    private var place = 0

    /// So many are remembered.
    private static let count = 1 << 15

    mutating func add(_ entry: Entry) {
        for number in [entry.step, entry.device, entry.what.utf8CodeUnitCount, entry.first, entry.second] {
            digest = (digest ^ UInt64(bitPattern: Int64(number))) &* 0x0000_0100_0000_01b3
        }
        counted[UInt(bitPattern: entry.what.utf8Start), default: (entry.what, 0)].count += 1
        if last.count < Self.count {
            last.append(entry)
        } else {
            last[place] = entry
            place = (place + 1) % Self.count
        }
    }

    /// All that is remembered of a push, then the last of what concerns its device and all devices.
    func lines(of device: Int, _ serial: Int) -> [String] {
        let ordered = last[place...] + last[..<place]
        let ofPush = ordered.filter { $0.device == device && $0.first == serial && serial >= 0 }
        let ofDevice = ordered.filter { $0.device == device || $0.device < 0 }.suffix(40)
        return [("of the push:", ofPush), ("of the device:", Array(ofDevice))].flatMap { [$0.0] + words($0.1) }
    }

    private func words(_ entries: [Entry]) -> [String] {
        entries.map { entry in
            "  step \(entry.step), \(entry.milliseconds) ms: \(entry.what) \(entry.first) \(entry.second)"
        }
    }
}
