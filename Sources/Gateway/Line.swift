/// Elements in the order in which they came. One may leave from anywhere in the line.
struct Line<Element: Hashable> {
    private var elements: [Element] = []
    /// All before it have left.
    private var head = 0
    /// Where each stands. What stands elsewhere has left.
    private var places: [Element: Int] = [:]

    var count: Int { places.count }

    /// All of them, in no order.
    var all: some Collection<Element> { places.keys }

    mutating func add(_ element: Element) {
        guard places[element] == nil else { return }
        places[element] = elements.count
        elements.append(element)
        // Whoever stays at the front must not keep the places of all who pass.
        if elements.count > 2 * places.count + 64 { closeUp() }
    }

    mutating func remove(_ element: Element) { places[element] = nil }

    /// Who has waited longest.
    mutating func first() -> Element? {
        while head < elements.count, !isTaken(head) { head += 1 }
        return head < elements.count ? elements[head] : nil
    }

    /// Who has waited longest, of those that fit.
    func first(where isFit: (Element) -> Bool) -> Element? {
        (head..<elements.count).first { isTaken($0) && isFit(elements[$0]) }.map { elements[$0] }
    }

    /// Who came last.
    mutating func last() -> Element? {
        while elements.count > head, !isTaken(elements.count - 1) { elements.removeLast() }
        return elements.count > head ? elements[elements.count - 1] : nil
    }

    private func isTaken(_ index: Int) -> Bool { places[elements[index]] == index }

    private mutating func closeUp() {
        elements = (head..<elements.count).filter(isTaken).map { elements[$0] }
        head = 0
        for (index, element) in elements.enumerated() { places[element] = index }
    }
}
