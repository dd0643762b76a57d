/// One request. The owner gets it from `takeRequests` and gives it back with `release`; then it is used again.
package final class HTTP2Request {
    private struct Field {
        var start = 0
        var end = 0
        var times = 0
    }

    package private(set) var stream: Int32 = 0
    /// The peer has sent all of it.
    package private(set) var isComplete = false
    /// The body passed the limit; what is beyond is counted and dropped.
    package private(set) var isBodyTooLarge = false
    /// The stream is gone: reset by the peer or by us, or answered to the end.
    package private(set) var isClosed = false
    /// The values of all wanted fields, then the body.
    package private(set) var bytes: [UInt8] = []
    /// Bytes of the body that came, also those dropped.
    package private(set) var bodyCount = 0
    /// A name that begins with `apns-` and is not wanted came twice.
    package private(set) var hasRepeatedUnknown = false
    /// Free for the owner; 0 in each new request.
    package var userTag: UInt64 = 0

    private var fields: [Field]
    private var bodyStart = 0
    private var headerListBytes = 0
    private var unknown: [UInt64] = []

    /// Where it stands among the open ones, so that it can be taken out at once.
    var place = 0
    /// It was recorded as ready; it is so once.
    var isReady = false
    /// The owner has it or had it.
    var isTaken = false
    var isReleased = false
    /// Answered or given up: nothing more may be said on its stream.
    var isSettled = false
    /// Its answer's body waits for room in the peer's window.
    var isDeferred = false
    /// What nghttp2 has yet to send; it lives here because the stream may outlive the owner's interest.
    private(set) var answer: [UInt8] = []

    init(fieldCount: Int) {
        fields = Array(repeating: Field(), count: fieldCount)
    }

    /// The first value of a field, as a range of `bytes`.
    package func range(of field: Int) -> Range<Int>? {
        fields[field].times == 0 ? nil : fields[field].start..<fields[field].end
    }

    /// How often a field came.
    package func count(of field: Int) -> Int { fields[field].times }

    /// The part of the body that was kept, as a range of `bytes`.
    package var body: Range<Int> { bodyStart..<bytes.count }

    func begin(stream: Int32, place: Int) {
        self.stream = stream
        self.place = place
        isComplete = false
        isBodyTooLarge = false
        isClosed = false
        hasRepeatedUnknown = false
        isReady = false
        isTaken = false
        isReleased = false
        isSettled = false
        isDeferred = false
        bytes.removeAll(keepingCapacity: true)
        unknown.removeAll(keepingCapacity: true)
        bodyCount = 0
        bodyStart = 0
        headerListBytes = 0
        userTag = 0
        for index in fields.indices { fields[index].times = 0 }
    }

    /// Counts a header's size; false once the list is larger than `limit`.
    func countHeader(_ count: Int, limit: Int) -> Bool {
        headerListBytes += count + 32
        return headerListBytes <= limit
    }

    func addHeader(_ field: Int, _ value: UnsafeBufferPointer<UInt8>) {
        fields[field].times += 1
        guard fields[field].times == 1 else { return }
        fields[field].start = bytes.count
        bytes.append(contentsOf: value)
        fields[field].end = bytes.count
        bodyStart = bytes.count
    }

    /// Remembers an unwanted `apns-` name by its hash; two names with one hash would have to be made on purpose, and
    /// harm only their sender.
    func addUnknown(_ name: UnsafeBufferPointer<UInt8>) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        if unknown.contains(hash) { hasRepeatedUnknown = true } else { unknown.append(hash) }
    }

    /// Keeps what fits and returns how many bytes that was.
    func addBody(_ chunk: UnsafeBufferPointer<UInt8>, limit: Int) -> Int {
        bodyCount += chunk.count
        if bodyCount > limit { isBodyTooLarge = true }
        let kept = isReleased ? 0 : min(chunk.count, limit - body.count)
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: chunk[..<kept]))
        return kept
    }

    func complete() { isComplete = true }

    func close() { isClosed = true }

    func setAnswer(_ body: [UInt8]) {
        answer.removeAll(keepingCapacity: true)
        answer.append(contentsOf: body)
    }

    /// Drops the body and returns how many bytes no longer burden the connection's window.
    func dropBody() -> Int {
        let count = body.count
        bytes.removeSubrange(body)
        return count
    }
}
