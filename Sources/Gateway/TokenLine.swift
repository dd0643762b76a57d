/// Tokens of connections in the order in which they came. One may leave from anywhere in the line.
struct TokenLine {
    private var tokens: [UInt64] = []
    /// All before it have left.
    private var head = 0
    /// Where each stands. What stands elsewhere has left.
    private var places: [UInt64: Int] = [:]

    var count: Int { places.count }

    mutating func add(_ token: UInt64) {
        guard places[token] == nil else { return }
        places[token] = tokens.count
        tokens.append(token)
        // Whoever stays at the front must not keep the places of all who pass.
        if tokens.count > 2 * places.count + 64 { closeUp() }
    }

    mutating func remove(_ token: UInt64) { places[token] = nil }

    /// Who has waited longest.
    mutating func first() -> UInt64? {
        while head < tokens.count, !isTaken(head) { head += 1 }
        return head < tokens.count ? tokens[head] : nil
    }

    /// Who has waited longest, of those that fit.
    func first(where isFit: (UInt64) -> Bool) -> UInt64? {
        (head..<tokens.count).first { isTaken($0) && isFit(tokens[$0]) }.map { tokens[$0] }
    }

    private func isTaken(_ index: Int) -> Bool { places[tokens[index]] == index }

    private mutating func closeUp() {
        tokens = (head..<tokens.count).filter(isTaken).map { tokens[$0] }
        head = 0
        for (index, token) in tokens.enumerated() { places[token] = index }
    }
}
