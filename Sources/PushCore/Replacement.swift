/// Whether newer pushes took the place of one that has been sent or promised. A newer one may yet be refused, because
/// the store fails or a drain ends; then it has replaced nothing.
package enum Replacement: Equatable, Sendable {
    case none
    /// By these, of which none is safe yet: if all are refused, it is undone.
    case pending([UInt64])
    /// By one that is safe: stored, delivered, or over.
    case certain

    /// Notes another that takes the place.
    package mutating func add(_ newer: UInt64) {
        switch self {
        case .none: self = .pending([newer])
        case .pending(let others): self = .pending(others + [newer])
        case .certain: break
        }
    }

    /// Whether it depends on one, beside others perhaps.
    package func isPending(for newer: UInt64) -> Bool {
        if case .pending(let those) = self { those.contains(newer) } else { false }
    }

    /// One is safe. Whether it was among these.
    @discardableResult
    package mutating func settle(_ newer: UInt64) -> Bool {
        guard isPending(for: newer) else { return false }
        self = .certain
        return true
    }

    /// One is refused. Whether nothing replaces the push any more because of that.
    @discardableResult
    package mutating func refuse(_ newer: UInt64) -> Bool {
        guard case .pending(var those) = self, let place = those.firstIndex(of: newer) else { return false }
        those.remove(at: place)
        self = those.isEmpty ? .none : .pending(those)
        return those.isEmpty
    }

    /// One gives way to another, and what becomes of that becomes of it.
    package mutating func pass(_ newer: UInt64, to heir: UInt64) {
        guard case .pending(let those) = self, those.contains(newer) else { return }
        self = .pending(those.filter { $0 != newer && $0 != heir } + [heir])
    }
}
