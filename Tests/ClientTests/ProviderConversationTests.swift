import HTTP2
import Testing

@testable import Client

/// The server's side of a conversation, byte by byte.
private enum Server {
    static func frame(_ type: UInt8, _ flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        var frame: [UInt8] = []
        frame.appendFrameHead(type, flags: flags, count: payload.count, stream: stream)
        return frame + payload
    }

    static func settings(_ entries: [(id: UInt8, value: UInt32)] = []) -> [UInt8] {
        frame(4, stream: 0, entries.flatMap { [0, $0.id] + word($0.value) })
    }

    static func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }

    /// `:status` as a literal that is not indexed, its name from the static table.
    static func block(_ status: String) -> [UInt8] { [0x08, UInt8(status.utf8.count)] + Array(status.utf8) }

    static func answer(_ stream: UInt32, _ status: String = "200", flags: UInt8 = 5) -> [UInt8] {
        frame(1, flags, stream: stream, block(status))
    }
}

/// A conversation with what came of it.
private struct Talk: ~Copyable {
    var conversation: ProviderConversation
    var answers: [ProviderConversation.Answer] = []

    init(_ conversation: consuming ProviderConversation) { self.conversation = conversation }

    mutating func receive(_ bytes: [UInt8]) throws { try conversation.receive(bytes.span, answers: &answers) }

    /// Opens what may be opened, at most `count`; returns how many.
    mutating func open(_ count: Int, bodyCount: Int = 10) -> Int {
        var opened = 0
        while opened < count, conversation.mayOpen(bodyCount: bodyCount) {
            _ = conversation.open(opened, planned: Int64(opened) + 100, bodyCount: bodyCount)
            opened += 1
        }
        return opened
    }

    var statuses: [Int] { answers.map(\.status) }
}

/// A conversation whose server has said its settings.
private func begun(limit: Int = 10, settings: [(id: UInt8, value: UInt32)] = []) throws -> Talk {
    var talk = Talk(try ProviderConversation(limit: limit))
    try talk.receive(Server.settings(settings))
    talk.conversation.output = []
    return talk
}

@Suite struct ProviderConversationTests {
    @Test func `it begins with the preface and forbids pushes`() throws {
        let conversation = try ProviderConversation(limit: 1)
        let output = conversation.output
        #expect(String(decoding: output.prefix(24), as: UTF8.self) == "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        #expect(Array(output[24..<39]) == [0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0])
    }

    @Test func `nothing is sent before the server's settings, which are acknowledged`() throws {
        var conversation = try ProviderConversation(limit: 1)
        var answers: [ProviderConversation.Answer] = []
        let before = conversation.mayOpen(bodyCount: 1)
        conversation.output = []
        let settings = Server.settings()
        try conversation.receive(settings.span, answers: &answers)
        let after = conversation.mayOpen(bodyCount: 1)
        #expect(!before && after)
        #expect(conversation.output == Server.frame(4, 1))
    }

    @Test func `streams are odd and rise`() throws {
        var talk = try begun()
        let streams = (0..<3).map { talk.conversation.open($0, planned: 0, bodyCount: 1) }
        #expect(streams == [1, 3, 5])
    }

    @Test func `no more are open than we want or the server allows`() throws {
        var ours = try begun(limit: 3)
        let wanted = ours.open(10)
        var theirs = try begun(limit: 10, settings: [(3, 2)])
        let allowed = theirs.open(10)
        try theirs.receive(Server.settings([(3, 5)]))
        #expect((wanted, allowed, theirs.open(10)) == (3, 2, 3))
    }

    @Test func `an answer says which request it is for`() throws {
        var talk = try begun()
        _ = talk.open(3)
        try talk.receive(Server.answer(5) + Server.answer(1, "410"))
        #expect(talk.answers.map(\.number) == [2, 0])
        #expect(talk.answers.map(\.planned) == [102, 100])
        #expect(talk.statuses == [200, 410])
        #expect(talk.conversation.openCount == 1)
    }

    @Test func `a body is as long as the windows allow`() throws {
        var talk = try begun(limit: 100)
        let first = talk.open(100, bodyCount: 20_000)
        try talk.receive(Server.frame(8, stream: 0, Server.word(20_000)))
        let second = talk.open(100, bodyCount: 20_000)
        #expect((first, second) == (3, 1))
    }

    @Test func `a body that no window admits is refused at once`() throws {
        let talk = try begun(settings: [(4, 100)])
        let refusals = [100, 101].map { talk.conversation.refuses(bodyCount: $0) }
        #expect(refusals == [false, true])
    }

    @Test func `an answer with a body ends with it`() throws {
        var talk = try begun()
        _ = talk.open(1)
        try talk.receive(Server.answer(1, "400", flags: 4))
        #expect(talk.answers.isEmpty)
        try talk.receive(Server.frame(0, 1, stream: 1, [1, 2, 3]))
        #expect(talk.statuses == [400])
    }

    @Test func `an early answer and trailers do not count`() throws {
        var talk = try begun()
        _ = talk.open(1)
        // `x: y` as a literal with a new name.
        let trailers = Server.frame(1, 5, stream: 1, [0x00, 1, 120, 1, 121])
        try talk.receive(Server.answer(1, "103", flags: 4) + Server.answer(1, "200", flags: 4) + trailers)
        #expect(talk.statuses == [200])
    }

    @Test func `padding, priority and continuation are read past`() throws {
        var talk = try begun()
        _ = talk.open(2)
        let block = Server.block("200")
        let padded = [2] + [0, 0, 0, 0, 9] + block + [0, 0]
        let cut = Server.frame(1, 1, stream: 3, [block[0]]) + Server.frame(9, 4, stream: 3, Array(block[1...]))
        try talk.receive(Server.frame(1, 0x2d, stream: 1, padded) + cut)
        #expect(talk.statuses == [200, 200])
    }

    @Test func `a reset is an answer without a status, once`() throws {
        var talk = try begun()
        _ = talk.open(1)
        let reset = Server.frame(3, stream: 1, Server.word(7))
        try talk.receive(reset + reset + Server.answer(1))
        #expect(talk.statuses == [0])
        #expect(talk.conversation.openCount == 0)
    }

    @Test func `a ping comes back`() throws {
        var talk = try begun()
        try talk.receive(Server.frame(6, 0, [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(talk.conversation.output == Server.frame(6, 1, [1, 2, 3, 4, 5, 6, 7, 8]))
    }

    @Test func `bodies of answers are paid for`() throws {
        var talk = try begun()
        let data = Server.frame(0, 0, stream: 1, Array(repeating: 0, count: 16_384))
        for _ in 0..<65_537 { try talk.receive(data) }
        #expect(talk.conversation.output.starts(with: [0, 0, 4, 8, 0, 0, 0, 0, 0]))
    }

    @Test(arguments: [
        Server.frame(7, 0, Server.word(1) + Server.word(0) + Array("Shutdown".utf8)),
        Server.frame(5, 4, stream: 1, [0]),
        Server.frame(4, 0, [0]), Server.frame(8, 0, [0]), [1, 0, 0, 0, 0, 0, 0, 0, 0],
        Server.frame(1, 0x0d, stream: 1, [200]),
        Server.frame(1, 5, stream: 1, [0xff]),
        Server.frame(1, 1, stream: 1, []) + Server.answer(3), Server.frame(9, 4, stream: 1, Server.block("200")),
        Server.frame(1, 1, stream: 1, []) + Server.frame(9, 4, stream: 3, Server.block("200")),
    ])
    func `what a server must not say ends the load`(_ bytes: [UInt8]) throws {
        var talk = try begun()
        var failed = false
        do { try talk.receive(bytes) } catch { failed = true }
        #expect(failed)
    }

    @Test func `bytes may come in any pieces`() throws {
        let bytes = Server.answer(1) + Server.frame(6, 0, [1, 2, 3, 4, 5, 6, 7, 8]) + Server.answer(3, "503")
        for size in 1...bytes.count {
            var talk = try begun()
            _ = talk.open(2)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try talk.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(talk.statuses == [200, 503])
        }
    }
}
