import Glibc
import Reactor
import Testing

@Suite struct LineWriterTests {
    @Test func `lines come out whole and in order`() throws {
        let pipe = try Pipe()
        let writer = try LineWriter(to: pipe.writing, limit: 1 << 20)
        for number in 0..<100 { #expect(writer.write("\(number)\n")) }
        writer.finish(milliseconds: 10_000)
        #expect(pipe.read(4096) == (0..<100).map { "\($0)\n" }.joined())
    }

    @Test func `a full pipe costs lines and no time`() throws {
        let pipe = try Pipe()
        pipe.fill()
        let writer = try LineWriter(to: pipe.writing, limit: 1000)
        let line = String(repeating: "x", count: 399) + "\n"
        #expect(writer.write(line) && writer.write(line) && !writer.write(line))
        // The reader comes, and there is room again.
        _ = pipe.read(1 << 20)
        var isTaken = false
        for _ in 0..<10_000 where !isTaken {
            isTaken = writer.write(line)
            usleep(1000)
        }
        #expect(isTaken)
        writer.finish(milliseconds: 10_000)
        #expect(pipe.read(1 << 20) == line + line + line)
    }

    @Test func `a reader that is gone is no error`() throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = try Pipe()
        close(pipe.reading)
        let writer = try LineWriter(to: pipe.writing, limit: 1000)
        #expect(writer.write("nobody hears it\n"))
        writer.finish(milliseconds: 10_000)
    }
}

/// A pipe whose ends are closed with the test's process.
private struct Pipe {
    let reading: Int32
    let writing: Int32

    init() throws {
        var numbers: [Int32] = [0, 0]
        try #require(pipe(&numbers) == 0)
        (reading, writing) = (numbers[0], numbers[1])
    }

    func read(_ most: Int) -> String {
        var buffer = [UInt8](repeating: 0, count: most)
        let count = Glibc.read(reading, &buffer, most)
        return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
    }

    func fill() {
        _ = fcntl(writing, F_SETFL, O_NONBLOCK)
        while write(writing, "x", 1) == 1 {}
        _ = fcntl(writing, F_SETFL, 0)
    }
}
