import CSimdJSON

/// One simdjson parser and its memory, which is kept from document to document.
struct Parser: ~Copyable {
    /// How deep containers may nest, the outermost included: enough for any payload, little enough to recurse.
    static let maximumDepth = 128

    /// The longest document: sixteen times what the admin API reads or writes at most.
    static let maximumSize = 16 << 20

    private let raw: OpaquePointer

    init() {
        // One level more than allowed: simdjson does not count an empty container, so the tape is asked.
        guard let raw = CSimdJSON_new(Self.maximumSize, Self.maximumDepth + 1) else { fatalError("out of memory") }
        self.raw = raw
    }

    deinit { CSimdJSON_free(raw) }

    /// Parses `bytes` and lends out what simdjson made of them. The tape is good only inside `body`.
    mutating func parse<Result>(
        _ bytes: Span<UInt8>,
        _ body: (Tape) throws(JSONError) -> Result
    ) throws(JSONError) -> Result {
        let code = bytes.withUnsafeBufferPointer { CSimdJSON_parse(raw, $0.baseAddress, $0.count) }
        guard code == 0 else { throw JSONError(description: String(cString: CSimdJSON_message(code))) }
        let tape = Tape(words: CSimdJSON_tape(raw), strings: CSimdJSON_strings(raw))
        guard tape.depth <= Self.maximumDepth else { throw .tooDeep }
        return try body(tape)
    }
}
