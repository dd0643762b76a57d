import Glibc
import Reactor
import Testing

@Suite struct MachineTests {
    @Test func `there is at least one core`() {
        #expect(Machine.cores >= 1)
    }

    @Test func `the open-file limit can be raised to its hard limit`() {
        Machine.raiseOpenFileLimit()
        let limit = Machine.openFileLimit()
        #expect(limit.soft > 0)
        #expect(limit.soft == limit.hard)
    }

    @Test func `the clocks run, the wall clock since 1970`() {
        let (wall, monotonic) = (Clock.wall(), Clock.monotonic())
        #expect(wall > 1_600_000_000 * 1_000_000_000)
        #expect(Clock.monotonic() >= monotonic)
    }

    @Test func `a process's CPU time rises with its work, and one that is not there has none`() throws {
        let before = try #require(Machine.cpuSeconds(ofProcess: getpid()))
        let (start, threadStart) = (Clock.monotonic(), Clock.threadCPU())
        // Until the scheduler has counted some of it; a test that is never scheduled fails after a minute.
        while Clock.threadCPU() - threadStart < 50_000_000, Clock.monotonic() - start < 60_000_000_000 {}
        let used = try #require(Machine.cpuSeconds(ofProcess: getpid()))
        #expect(used > before)
        // No thread counts twice: what the process has used, with time for the next instructions.
        #expect(used <= Machine.usage().cpuSeconds + 0.1)
        #expect(Machine.cpuSeconds(ofProcess: .max) == nil)
    }

    @Test func `an error names its call and the system's reason`() {
        #expect(SystemError(call: "bind", number: 98).description == "bind: Address already in use")
        #expect(SystemError(call: "getaddrinfo", number: -2).description == "getaddrinfo: Name or service not known")
        #expect(SystemError(call: "bind", number: 98) != SystemError(call: "listen", number: 98))
        #expect(SystemError(call: "accept", number: 24).isOutOfResources)
    }
}
