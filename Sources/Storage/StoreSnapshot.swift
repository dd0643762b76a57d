package import PushCore

/// Everything a store holds, as it is read at the start.
package struct StoreSnapshot: Sendable {
    /// By bundle id.
    package var apps: [App] = []
    /// By key id, revoked ones included.
    package var keys: [ProviderKey] = []
    /// By id, removed ones included.
    package var devices: [Device] = []
    /// By number, ended ones included.
    package var registrations: [Registration] = []
    /// By number, ascending; none expired, and only the newest for each registration and collapse id. Their payloads
    /// may be in the store alone.
    package var pushes: [Push] = []
    /// No push with a greater number was ever appended. It may be far above the last one: numbers are reserved in
    /// blocks, so that those of pushes which never reached the store are not used again after a crash either.
    package var lastPushNumber: UInt64 = 0
    /// No registration with a greater number was ever saved.
    package var lastRegistrationNumber: UInt64 = 0
    /// Nothing was ever stored before.
    package var isNew = true

    package init() {}
}

/// Separates the pushes worth sending from those that a newer one replaced or that expired while nobody looked. The
/// numbers of the replaced are discarded lazily, so after a crash they may still be there.
struct PushSieve {
    private struct Slot: Hashable {
        let registration: UInt64
        let collapseID: [UInt8]
    }

    private let now: Moment
    private var kept: [Push] = []
    /// Places in `kept` whose pushes a newer one replaced.
    private var replaced: Set<Int> = []
    private var newest: [Slot: Int] = [:]
    /// Numbers of pushes that may be deleted, ascending within each reason.
    private(set) var stale: [UInt64] = []

    init(at now: Moment) { self.now = now }

    var pushes: [Push] {
        // Usually none is, and the list need not be written anew.
        replaced.isEmpty ? kept : kept.indices.filter { !replaced.contains($0) }.map { kept[$0] }
    }

    /// Takes the next push; they come by number, ascending.
    mutating func add(_ push: Push) {
        // An expired one still replaces: what it replaced must not come back either.
        if push.content.hasCollapseID { replaceOlder(push) }
        if push.expires > now { kept.append(push) } else { stale.append(push.number) }
    }

    private mutating func replaceOlder(_ push: Push) {
        let slot = Slot(registration: push.registration, collapseID: Array(push.content.collapseID))
        if let index = newest[slot] {
            stale.append(kept[index].number)
            replaced.insert(index)
        }
        newest[slot] = push.expires > now ? kept.count : nil
    }
}
