/// Files that are looked at again and again, to see when they change. A change counts once two looks in a row see the
/// same: whoever writes several files, or one in parts, is done by then (docs/decisions/0030-files-are-looked-at.md).
struct FileLook {
    private var paths: [String]
    private var taken: [FileMark?]
    private var seen: [FileMark?]

    /// What is there now is no change.
    init(_ paths: [String]) {
        self.paths = paths
        taken = paths.map(Files.mark)
        seen = taken
    }

    /// Looks at these as well from now on.
    mutating func add(_ more: [String]) {
        let marks = more.map(Files.mark)
        paths += more
        taken += marks
        seen += marks
    }

    /// What is there now is no change.
    mutating func accept() { taken = paths.map(Files.mark) }

    /// Looks; true when something has changed and settled.
    mutating func hasChanged() -> Bool { hasChanged(to: paths.map(Files.mark)) }

    /// The same for what a look has seen.
    mutating func hasChanged(to marks: [FileMark?]) -> Bool {
        defer { seen = marks }
        guard marks != taken, marks == seen else { return false }
        taken = marks
        return true
    }
}
