/// Both directions of a TLS 1.3 session whose handshake is over: ciphertext in, plaintext out, and back.
///
/// While nothing is on its way it owns two small blocks of keys and no buffer.
package struct RecordSession: ~Copyable {
    /// Gone when the peer has closed or failed, and its keys with it.
    private var opener: RecordOpener?
    /// Gone when we have closed or failed, and its keys with it.
    private var sealer: RecordSealer?
    /// The start of a record whose end has not come. Empty, without storage, between two records.
    private var partial: [UInt8] = []
    private var keyUpdate = KeyUpdate()
    /// Records in a row that brought nothing to the application.
    private var fruitless: UInt8 = 0
    private var hasFailed = false

    /// A peer that means well sends none, or a KeyUpdate now and then; each costs us as much as a record of data.
    package static let fruitlessLimit: UInt8 = 32

    package init(opener: consuming RecordOpener, sealer: consuming RecordSealer) {
        self.opener = consume opener
        self.sealer = consume sealer
    }

    /// Whether the peer has said that it sends no more (close_notify). What comes after is ignored.
    package var isPeerClosed: Bool { opener == nil && !hasFailed }

    /// Takes all of `ciphertext` and returns how many bytes of `plaintext`, from index 0, are new content.
    ///
    /// When this throws the session is over; `fail` says so to the peer.
    package mutating func receive(_ ciphertext: Span<UInt8>, into plaintext: inout [UInt8]) throws(RecordError) -> Int {
        guard !hasFailed else { throw .closed }
        var (position, count) = (0, 0)
        while position < ciphertext.count, opener != nil {
            let rest = ciphertext.extracting(position..<ciphertext.count)
            if !partial.isEmpty {
                position += try complete(from: rest)
                guard let record = try takePartial() else { continue }
                count += try open(record.span, into: &plaintext, at: count)
            } else if let size = try recordCount(rest), size <= rest.count {
                count += try open(rest.extracting(0..<size), into: &plaintext, at: count)
                position += size
            } else {
                partial = rest.withUnsafeBytes { Array($0) }
                position = ciphertext.count
            }
        }
        return count
    }

    /// Appends `plaintext` to `outgoing` as records.
    package mutating func send(_ plaintext: Span<UInt8>, into outgoing: inout [UInt8]) throws(RecordError) {
        guard sealer != nil else { throw .closed }
        sealer?.seal(data: plaintext, into: &outgoing)
    }

    /// Says that no more will be sent (close_notify). The peer may still be heard.
    package mutating func close(into outgoing: inout [UInt8]) {
        sealer?.seal(.closeNotify, into: &outgoing)
        sealer = nil
    }

    /// Ends both directions after an error, and tells the peer if it is the one who should know.
    package mutating func fail(_ error: RecordError, into outgoing: inout [UInt8]) {
        if case .broken(let alert) = error { sealer?.seal(alert, into: &outgoing) }
        hasFailed = true
        opener = nil
        sealer = nil
        partial = []
    }

    /// Moves bytes to the partial record, no more than it lacks; returns how many.
    private mutating func complete(from bytes: Span<UInt8>) throws(RecordError) -> Int {
        let wanted = try recordCount(partial.span) ?? RecordHeader.count
        let count = min(wanted - partial.count, bytes.count)
        bytes.extracting(0..<count).withUnsafeBytes { partial.append(contentsOf: $0) }
        return count
    }

    /// The partial record, if it no longer is one.
    private mutating func takePartial() throws(RecordError) -> [UInt8]? {
        guard try recordCount(partial.span) == partial.count else { return nil }
        defer { partial = [] }
        return partial
    }

    /// Opens one record; returns how much content it added behind `start`.
    private mutating func open(
        _ record: Span<UInt8>,
        into plaintext: inout [UInt8],
        at start: Int
    ) throws(RecordError) -> Int {
        guard let opened = try opener?.open(record, into: &plaintext, at: start) else { return 0 }
        if opened.type == .applicationData, opened.count > 0, !keyUpdate.isUnfinished {
            fruitless = 0
            return opened.count
        }
        fruitless += 1
        guard fruitless <= Self.fruitlessLimit else { throw .broken(.unexpectedMessage) }
        try obey(opened.type, plaintext.span.extracting(start..<(start + opened.count)))
        return 0
    }

    /// Takes what is not for the application.
    private mutating func obey(_ type: ContentType, _ content: Span<UInt8>) throws(RecordError) {
        switch type {
        case .handshake:
            let (isComplete, isRequest) = try keyUpdate.receive(content)
            if isComplete { opener?.updateKeys() }
            if isRequest { sealer?.owesKeyUpdate = true }
        // Between the parts of a handshake message nothing else may come (RFC 8446, 5.1).
        case _ where keyUpdate.isUnfinished: throw .broken(.unexpectedMessage)
        case .alert: try heed(content)
        case .applicationData: break
        default: throw .broken(.unexpectedMessage)
        }
    }

    /// The level of an alert means nothing in TLS 1.3: all but these two end the session at once.
    private mutating func heed(_ content: Span<UInt8>) throws(RecordError) {
        guard !content.isEmpty else { throw .broken(.unexpectedMessage) }
        guard content.count == 2 else { throw .broken(.decodeError) }
        switch Alert(rawValue: content[1]) {
        case .closeNotify: opener = nil
        case .userCanceled: break
        case let alert: throw .refused(alert)
        }
    }
}

/// How many bytes the record at the start of `bytes` has, header included; nil if its header is not all there.
private func recordCount(_ bytes: Span<UInt8>) throws(RecordError) -> Int? {
    guard let header = try RecordHeader(bytes) else { return nil }
    return RecordHeader.count + header.payloadCount
}
