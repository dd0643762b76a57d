import PushCore

/// The devices that hold pushes, also those that no longer do since the last sweep, and how far a sweep has come.
struct Holders {
    private(set) var all: [DeviceState] = []
    private var place: Int?

    /// Whether a sweep is not over.
    var isSweeping: Bool { place != nil }

    /// Adds a device, unless it is there.
    mutating func add(_ device: DeviceState) {
        guard !device.isHolder else { return }
        device.isHolder = true
        all.append(device)
    }

    /// Begins a sweep; one that is not over goes on.
    mutating func beginSweep() {
        if place == nil, !all.isEmpty { place = 0 }
    }

    /// The next device of a sweep; nil when it is over. `swept` goes on to the one after it.
    var next: DeviceState? { place.map { all[$0] } }

    /// The next device was looked at: it leaves if it holds nothing.
    mutating func swept() {
        guard var place else { return }
        let device = all[place]
        if device.queue.heldCount > 0 || !device.unanswered.isEmpty {
            place += 1
        } else {
            device.isHolder = false
            all.swapAt(place, all.count - 1)
            all.removeLast()
        }
        self.place = place < all.count ? place : nil
    }
}
