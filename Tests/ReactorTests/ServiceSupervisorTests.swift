import Reactor
import Testing

@Suite struct ServiceSupervisorTests {
    private func patience(_ variables: [String: String]) -> Int64? {
        let named = ["NOTIFY_SOCKET": "/run/nobody"].merging(variables) { $1 }
        return ServiceSupervisor(variables: named, processID: 42)?.watchdogNanoseconds
    }

    @Test(arguments: ["", "@", "relative", "vsock:1:2", "/" + String(repeating: "x", count: 107)])
    func `what is no address of a socket is nobody`(_ name: String) {
        #expect(ServiceSupervisor(variables: ["NOTIFY_SOCKET": name], processID: 1) == nil)
    }

    @Test func `without a name there is no supervisor`() {
        #expect(ServiceSupervisor(variables: [:], processID: 1) == nil)
    }

    @Test func `a watchdog is fed by the process it is meant for`() {
        #expect(patience(["WATCHDOG_USEC": "3000000"]) == 3_000_000_000)
        #expect(patience(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "42"]) == 3_000_000_000)
        #expect(patience(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "43"]) == nil)
        #expect(patience([:]) == nil)
    }

    @Test(arguments: ["0", "-1", "soon", "9223372036854775807"])
    func `a patience that is no time is none`(_ text: String) {
        #expect(patience(["WATCHDOG_USEC": text]) == nil)
    }

    @Test func `whom nobody listens to goes on`() {
        let supervisor = ServiceSupervisor(variables: ["NOTIFY_SOCKET": "@nobody-listens-here"], processID: 1)
        supervisor?.ready("serving")
        #expect(supervisor != nil)
    }
}
