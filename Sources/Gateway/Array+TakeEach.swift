extension Array {
    /// Gives each element to `body`, in order, and keeps the room. An element that is given away is not retained
    /// again, as it would be by a loop over the array.
    mutating func takeEach(_ body: (consuming Element) -> Void) {
        if count > 1 { reverse() }
        while let element = popLast() { body(element) }
    }
}
