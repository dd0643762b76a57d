/// What is known of a request, and how far it has got.
struct RequestRecord {
    /// The place of a field's first value. A header list is far below 4 GB.
    struct Field {
        var start: UInt32 = 0
        var end: UInt32 = 0
        var isPresent = false
    }

    /// Room for the headers and body of a usual push; what a larger one took is given back.
    static let keptCapacity = 8192

    private(set) var stream: Int32 = 0
    /// When its headers began, by the owner's clock.
    var begunAt: Int64 = 0
    var isComplete = false
    private(set) var isBodyTooLarge = false
    var isClosed = false
    private(set) var hasRepeatedUnknown = false
    private(set) var bytes: [UInt8] = []
    private(set) var bodyStart = 0
    private(set) var bodyCount = 0
    private(set) var fields: InlineArray<16, Field> = .init(repeating: Field())
    private(set) var repeatedFields: UInt64 = 0

    /// The request whose record this is, while its stream is open: so it lives as long as nghttp2 knows it.
    var request: HTTP2Request?
    /// Where it stands among the open ones, so that it can be taken out at once.
    var place = 0
    /// What its headers have shown.
    var rules = HeaderRules()
    /// It is no request, and its stream is being reset.
    var isBroken = false
    /// It was recorded as ready; it is so once.
    var isReady = false
    /// The owner has it or had it.
    var isTaken = false
    var isReleased = false
    /// Answered or given up: nothing more may be said on its stream.
    var isSettled = false
    /// The answer's body waits for room in the peer's window.
    var isDeferred = false
    /// The body that nghttp2 has yet to fetch; it lives here because the stream may outlive the owner's interest.
    private(set) var answer: [UInt8] = []

    private(set) var headerListBytes = 0
    /// Kept body bytes for which the peer has no credit yet.
    private var burden = 0
    private var unknown: [UInt64] = []

    mutating func begin(stream: Int32, place: Int) {
        self.stream = stream
        self.place = place
        isComplete = false
        isBodyTooLarge = false
        isClosed = false
        hasRepeatedUnknown = false
        rules = HeaderRules()
        isBroken = false
        isReady = false
        isTaken = false
        isReleased = false
        isSettled = false
        isDeferred = false
        bytes.removeAll(keepingCapacity: true)
        if !answer.isEmpty { answer.removeAll(keepingCapacity: true) }
        if !unknown.isEmpty { unknown.removeAll(keepingCapacity: true) }
        bodyStart = 0
        bodyCount = 0
        headerListBytes = 0
        burden = 0
        repeatedFields = 0
        for index in fields.indices { fields[index].isPresent = false }
    }

    /// Counts a header's size; false once the list is larger than `limit`.
    mutating func countHeader(_ count: Int, limit: Int) -> Bool {
        headerListBytes += count + 32
        return headerListBytes <= limit
    }

    mutating func addHeader(_ field: Int, _ value: UnsafeBufferPointer<UInt8>) {
        guard !fields[field].isPresent else {
            repeatedFields |= 1 << UInt64(field)
            return
        }
        fields[field].isPresent = true
        fields[field].start = UInt32(truncatingIfNeeded: bytes.count)
        bytes.append(contentsOf: value)
        bodyStart = bytes.count
        fields[field].end = UInt32(truncatingIfNeeded: bodyStart)
    }

    /// Remembers an unwanted `apns-` name by its hash. Two names with one hash would have to be made on purpose, and
    /// harm only their sender.
    mutating func addUnknown(_ name: UnsafeBufferPointer<UInt8>) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        if unknown.contains(hash) { hasRepeatedUnknown = true } else { unknown.append(hash) }
    }

    /// Keeps what fits and returns how many bytes that was.
    mutating func addBody(_ chunk: UnsafeBufferPointer<UInt8>, limit: Int) -> Int {
        bodyCount += chunk.count
        isBodyTooLarge = bodyCount > limit
        let kept = isReleased || isBroken ? 0 : min(chunk.count, limit - (bytes.count - bodyStart))
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: chunk[..<kept]))
        burden += kept
        return kept
    }

    /// The kept bytes that are the peer's to send again, once.
    mutating func takeBurden() -> Int {
        defer { burden = 0 }
        return burden
    }

    mutating func hold(_ body: [UInt8]) { answer.append(contentsOf: body) }

    mutating func moveAnswer(to buffer: UnsafeMutablePointer<UInt8>) -> Int {
        let count = answer.count
        answer.withUnsafeBufferPointer { buffer.update(from: $0.baseAddress!, count: count) }
        answer.removeAll(keepingCapacity: true)
        return count
    }

    /// Takes the bytes away: no field is present and the body is empty; what was counted stays counted.
    mutating func takeBytes() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &bytes)
        bodyStart = 0
        for index in fields.indices { fields[index].isPresent = false }
        return taken
    }

    /// Gives an idle request room for the bytes to come.
    mutating func lend(_ room: [UInt8]) { bytes = room }

    /// Gives back what an unusually large request took.
    mutating func shrink() {
        if bytes.capacity > Self.keptCapacity { bytes = [] }
    }
}
