/// The candidate that takes the fewest edits to become `text`; nil when there is no candidate.
package func nearest<Candidates: Sequence<String>>(to text: String, in candidates: Candidates) -> String? {
    candidates.map { (name: $0, distance: editDistance(text.lowercased(), $0.lowercased())) }
        .min { $0.distance < $1.distance }?.name
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
package func editDistance(_ a: String, _ b: String) -> Int {
    let (a, b) = (Array(a.utf8), Array(b.utf8))
    var before: [Int] = []
    var above = Array(0...b.count)
    for i in a.indices {
        var row = [i + 1]
        for j in b.indices {
            var best = min(above[j + 1] + 1, row[j] + 1, above[j] + (a[i] == b[j] ? 0 : 1))
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, before[j - 1] + 1) }
            row.append(best)
        }
        (before, above) = (above, row)
    }
    return above[b.count]
}
