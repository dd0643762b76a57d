import HTTP2
import Testing

@Suite struct HeaderBlocksTests {
    private static func push(_ token: String) -> [(name: String, value: String)] {
        [
            (":method", "POST"), (":scheme", "https"), (":authority", "127.0.0.1:8443"),
            (":path", "/3/device/\(token)"),
            ("authorization", "bearer abc.def.ghi"), ("apns-topic", "com.example.demo"), ("apns-push-type", "alert"),
        ]
    }

    private func read(_ block: [UInt8], with decoder: borrowing HeaderDecoder) throws -> [String] {
        var fields: [(name: String, value: String)] = []
        try decoder.read(block.span) { name, value in
            fields.append((String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
        }
        return text(fields)
    }

    private func read(_ block: [UInt8]) throws -> [String] {
        let decoder = try HeaderDecoder()
        return try read(block, with: decoder)
    }

    private func status(_ block: [UInt8]) throws -> Int? {
        let decoder = try HeaderDecoder()
        return try decoder.status(block.span)
    }

    private func block(_ fields: [(name: String, value: String)]) throws -> [UInt8] {
        let encoder = try HeaderEncoder(tableSize: 4096)
        return try encoder.encode(fields)
    }

    private func text(_ fields: [(name: String, value: String)]) -> [String] { fields.map { "\($0.name)=\($0.value)" } }

    @Test func `what is encoded is decoded`() throws {
        let encoder = try HeaderEncoder(tableSize: 4096)
        let decoder = try HeaderDecoder()
        for token in ["aa", "bb", "aa"] {
            let block = try encoder.encode(Self.push(token))
            #expect(try read(block, with: decoder) == text(Self.push(token)))
        }
    }

    @Test func `from the second push on a connection's blocks depend on the push alone`() throws {
        let encoder = try HeaderEncoder(tableSize: 4096)
        let first = try encoder.encode(Self.push("aa"))
        let second = try encoder.encode(Self.push("aa"))
        _ = try encoder.encode(Self.push("bb"))
        #expect(try encoder.encode(Self.push("aa")) == second)
        #expect(second.count < first.count)
    }

    @Test func `a later block is good after the first of another push`() throws {
        let encoder = try HeaderEncoder(tableSize: 4096)
        let decoder = try HeaderDecoder()
        let first = try block(Self.push("bb"))
        _ = try encoder.encode(Self.push("aa"))
        let later = try encoder.encode(Self.push("aa"))
        _ = try read(first, with: decoder)
        #expect(try read(later, with: decoder) == text(Self.push("aa")))
    }

    @Test func `a server without a table gets blocks that need none`() throws {
        let encoder = try HeaderEncoder(tableSize: 0)
        _ = try encoder.encode(Self.push("aa"))
        let later = try encoder.encode(Self.push("aa"))
        #expect(try read(later) == text(Self.push("aa")))
    }

    @Test(arguments: [("200", 200), ("410", 410), ("503", 503)])
    func `an answer has a status`(_ value: String, _ status: Int) throws {
        let block = try block([(":status", value), ("apns-id", "x")])
        #expect(try self.status(block) == status)
    }

    @Test(arguments: ["", "20", "2000", "20:", "2\u{0}0", "99999999999999999999999999"])
    func `what is no status counts as none`(_ value: String) throws {
        #expect(try status(block([(":status", value)])) == nil)
    }

    @Test func `trailers have no status`() throws {
        #expect(try status(block([("grpc-status", "0")])) == nil)
    }

    @Test func `a block that is cut short is refused`() throws {
        let block = try block([("apns-id", "a value that is long enough to be cut")])
        for count in 1..<block.count {
            #expect(throws: HTTP2Error.self) { try status(Array(block[..<count])) }
        }
    }
}
