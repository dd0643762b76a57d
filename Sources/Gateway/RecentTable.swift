/// A dictionary of bounded size, in two generations: when the young one is full it is the old one, and what was old is
/// forgotten. So it need never be searched for what to forget.
struct RecentTable<Key: Hashable, Value> {
    private let limit: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    init(limit: Int) { self.limit = limit }

    var count: Int { young.count + old.count }

    /// What is remembered; to set it makes it young.
    subscript(key: Key) -> Value? {
        get { count == 0 ? nil : young[key] ?? old[key] }
        set {
            if count > 0 { old[key] = nil }
            guard let newValue else {
                young[key] = nil
                return
            }
            if young[key] == nil, young.count >= limit / 2 {
                old = young
                young = [:]
            }
            young[key] = newValue
        }
    }
}
