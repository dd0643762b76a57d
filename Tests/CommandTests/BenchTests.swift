import Client
import JSON
import Testing

@testable import carillon

@Suite struct BenchTests {
    private func invocation(_ line: String) throws -> Invocation {
        let words = line.split(separator: " ").map(String.init)
        guard case .run(let invocation) = try Request(words) else { throw CommandError.usage("that is help") }
        return invocation
    }

    private func options(_ line: String) throws -> BenchOptions { try BenchOptions(invocation("bench pushes \(line)")) }

    private func mistake(_ line: String) -> String? {
        #expect(throws: CommandError.self) { try options(line) }?.message
    }

    private func json(_ result: LoadResult) throws -> JSONValue {
        var writer = JSONWriter()
        writer.object(BenchReport(load: "pushes", result: result).write)
        return try JSONValue(parsing: writer.bytes.span)
    }

    private static func result() -> LoadResult {
        var result = LoadResult()
        result.count = 4
        result.seconds = 2
        result.statuses = [200: 3, 0: 1]
        result.answers.record(2_000)
        result.clientCPUSeconds = 1.9
        result.serverCPUSeconds = 0.5
        return result
    }

    @Test func `what is not said has a default, and the warm-up is a tenth`() throws {
        let options = try options("--count 500")
        #expect(options.count == 500 && options.warmUp == 50 && options.payloadSize == 1024)
        #expect(options.shape.connections == 10 && options.shape.inFlight == 100 && options.shape.rate == nil)
        #expect(try self.options("--warm-up 0 --rate 250").shape.rate == 250)
        #expect(try self.options("--warm-up 0").warmUp == 0)
    }

    @Test(arguments: [
        ("--count 0", "--count must be a whole number from 1"), ("--payload 63", "from 64 to 4096"),
        ("--rate fast", "--rate must be a whole number"), ("--in-flight 0", "--in-flight must be"),
        ("--server 0", "--server must be"), ("--server 2147483647", "there is no process 2147483647"),
    ])
    func `a bad number is named`(_ line: String, _ part: String) {
        #expect(mistake(line)?.contains(part) == true)
    }

    @Test(arguments: [
        ("bench", "say bench requests, bench pushes"), ("bench request", "did you mean bench requests?"),
        ("bench pushes --to a:1", "bench pushes has no option --to"), ("bench sessions x", "does not take \"x\""),
    ])
    func `wrong usage is named`(_ line: String, _ part: String) {
        let words = line.split(separator: " ").map(String.init)
        let error = #expect(throws: CommandError.self) { try Request(words) }
        #expect(error?.message.contains(part) == true)
    }

    @Test(arguments: ["bench requests --to nowhere", "bench connects --bare 127.0.0.1"])
    func `an address needs its port`(_ line: String) throws {
        let invocation = try invocation(line)
        let error = #expect(throws: CommandError.self) { try invocation.command.run(invocation) }
        #expect(error?.message.contains("must be HOST:PORT") == true && error?.exitStatus == 2)
    }

    @Test func `more than the queues hold is refused with what to say instead`() throws {
        let options = try options("--count 1000 --warm-up 0 --connections 10 --in-flight 200")
        try BenchPushes.checkRoom(options, devices: 2, offlineLimit: nil, backlog: 1000)
        try BenchPushes.checkRoom(options, devices: 10, offlineLimit: 100, backlog: 1000)
        let live = #expect(throws: CommandError.self) {
            try BenchPushes.checkRoom(options, devices: 1, offlineLimit: nil, backlog: 1000)
        }
        #expect(live?.message.contains("say --devices 2,") == true)
        let stored = #expect(throws: CommandError.self) {
            try BenchPushes.checkRoom(options, devices: 9, offlineLimit: 100, backlog: 1000)
        }
        #expect(stored?.message.contains("say --devices 10,") == true)
        #expect(throws: CommandError.self) {
            try BenchPushes.checkRoom(options, devices: 2, offlineLimit: nil, backlog: 999)
        }
    }

    @Test func `figures for programs are microseconds`() throws {
        let value = try json(Self.result())
        #expect(value["load"]?.string == "pushes" && value["count"]?.int == 4 && value["rate"]?.double == 2)
        #expect(value["statuses"]?["200"]?.int == 3 && value["statuses"]?["reset"]?.int == 1)
        #expect(value["latency"]?["p50"]?.double == 2 && value["answers"]?["max"]?.double == 2)
        #expect(value["serverCPUPerRequest"]?.double == 125_000)
        #expect(value["delivered"]?.isNull == true && value["loop"]?.string == "closed")
    }

    @Test func `a closed loop without time to spare is the limit, an open one never`() throws {
        var result = Self.result()
        #expect(try json(result)["isLimit"]?.bool == true)
        result.isOpenLoop = true
        #expect(try json(result)["isLimit"]?.bool == false)
        #expect(try json(result)["loop"]?.string == "open")
    }

    @Test func `the lines for people say the loop and the limit`() {
        let text = BenchReport(load: "pushes", result: Self.result()).lines.joined(separator: "\n")
        #expect(text.contains("loop         closed") && text.contains("the client had no time to spare"))
        #expect(text.contains("200: 3") && text.contains("reset: 1"))
    }

    @Test(arguments: [
        ("bench-1", true), ("bench-15000", true), ("bench-", false), ("bench-a", false), ("kitchen", false),
    ])
    func `a bench's device is known by its name`(_ name: String, _ isBench: Bool) {
        #expect(BenchDevices.isBench(name) == isBench)
    }
}
