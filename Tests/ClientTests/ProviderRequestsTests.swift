import HTTP2
import Testing

@testable import Client

@Suite struct ProviderRequestsTests {
    private static let mark: UInt32 = 0xdead_beef

    private func requests(tokens: [String] = ["aa", "bb", "cc"]) throws -> ProviderRequests {
        let target = LoadTarget(
            authority: "localhost:8443",
            tokens: tokens,
            topic: "com.example.demo",
            authorization: "bearer a.b.c",
            payloadSize: 200
        )
        return try ProviderRequests(target, mark: Self.mark, tableSize: 4096)
    }

    /// The frames of some bytes: type, flags, stream and payload.
    private func frames(_ bytes: [UInt8]) -> [(type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])] {
        var (frames, start) = ([(type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])](), 0)
        while start < bytes.count {
            let count = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
            let payload = Array(bytes[start + 9..<start + 9 + count])
            frames.append((bytes[start + 3], bytes[start + 4], bytes.span.word(at: start + 5), payload))
            start += 9 + count
        }
        return frames
    }

    private func fields(_ block: [UInt8], _ decoder: borrowing HeaderDecoder) throws -> [(name: String, value: String)]
    {
        var fields: [(name: String, value: String)] = []
        try decoder.read(block.span) { name, value in
            fields.append((String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
        }
        return fields
    }

    @Test func `requests take the tokens in turn, each with its stream and number`() throws {
        let requests = try requests()
        var output: [UInt8] = []
        for number in 0..<5 {
            requests.append(number, stream: UInt32(2 * number + 1), isFirst: number == 0, to: &output)
        }
        let frames = frames(output)
        let decoder = try HeaderDecoder()
        var paths: [String?] = []
        for frame in frames where frame.type == 1 {
            paths.append(try fields(frame.payload, decoder).first { $0.name == ":path" }?.value)
        }
        #expect(paths == ["aa", "bb", "cc", "aa", "bb"].map { "/3/device/\($0)" })
        #expect(frames.map(\.stream) == [1, 1, 3, 3, 5, 5, 7, 7, 9, 9])
        #expect(frames.map(\.flags) == Array(repeating: [4, 1], count: 5).flatMap { $0 })
        let numbers = frames.filter { $0.type == 0 }.map { LoadPayload.read($0.payload)?.number }
        #expect(numbers == [0, 1, 2, 3, 4])
    }

    @Test func `the first request of a connection may be for any token`() throws {
        let requests = try requests()
        var output: [UInt8] = []
        requests.append(2, stream: 1, isFirst: true, to: &output)
        requests.append(0, stream: 3, isFirst: false, to: &output)
        let decoder = try HeaderDecoder()
        for frame in frames(output) where frame.type == 1 {
            let found = try fields(frame.payload, decoder)
            #expect(found.contains { $0 == (":authority", "localhost:8443") })
            #expect(found.contains { $0 == ("authorization", "bearer a.b.c") })
            #expect(found.contains { $0 == ("content-length", "200") })
        }
    }

    @Test func `a payload has its size, and its mark and number where a device looks for them`() throws {
        for count in [LoadPayload.minimum, 64, 4096] {
            var payload = LoadPayload.bytes(count: count, mark: Self.mark)
            LoadPayload.write(0x0123_abcd, to: &payload, at: LoadPayload.numberOffset)
            #expect(payload.count == count)
            let found = try #require(LoadPayload.read(payload))
            #expect(found == (Self.mark, 0x0123_abcd))
        }
    }

    @Test(arguments: [#"{}"#, #"{"aps":{"alert":"a text that is longer than the least payload of a bench is"}}"#])
    func `a payload of anyone else is none of ours`(_ text: String) {
        #expect(LoadPayload.read(Array(text.utf8)) == nil)
    }

    @Test func `digits that are none are none of ours`() {
        var payload = LoadPayload.bytes(count: 100, mark: 1)
        payload[LoadPayload.numberOffset] = UInt8(ascii: "x")
        #expect(LoadPayload.read(payload) == nil)
    }
}
