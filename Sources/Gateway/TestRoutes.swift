import Admin
import JSON
import PushCore
import Reactor
import Storage

/// `/v1/test/...`, with `serve --test-hooks` only.
struct TestRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest, _ hook: String) throws(AdminFailure) -> AdminResponse {
        switch hook {
        case "clock":
            let body = try object(request, ["advance": .text, "hold": .flag])
            if let hold = body["hold"]?.bool {
                control.shared.clock.hold(hold)
                break
            }
            let text = try body.text("advance")
            let isBack = text.hasPrefix("-")
            guard let length = Interval(setting: isBack ? String(text.dropFirst()) : text) else {
                throw .badRequest("advance is a duration such as 90s, 31d or -1h")
            }
            let interval = isBack ? Interval(nanoseconds: -length.nanoseconds) : length
            // Nanoseconds of 64 bits end in 2262, and what is stored lies up to a year ahead.
            guard (Moment(seconds: 0)..<Moment(seconds: 7_500_000_000)).contains(control.now + interval) else {
                throw .badRequest("the clock begins in the year 1970 and ends in the year 2207")
            }
            control.shared.clock.advance(by: interval)
            // Every loop looks at its deadlines before the tester goes on.
            _ = try control.ask { $0.timeMoved() }
        case "store":
            let body = try object(request, ["hold": .flag, "fail": .count])
            let (hold, count) = (body["hold"]?.bool, body["fail"]?.int)
            if let hold { control.shared.store.hold(hold) }
            if let count { control.shared.store.fail(next: count) }
        case "loop":
            let body = try object(request, ["stuck": .text])
            guard let interval = Interval(setting: try body.text("stuck")) else {
                throw .badRequest("stuck is a duration such as 5s")
            }
            // One loop stands still, as if it waited for something that does not come.
            control.shared.mailboxes[0].post(.perform { _ in idle(milliseconds: Int(interval.milliseconds)) })
        case "answer":
            let body = try object(request, ["status": .count, "reason": .text, "times": .count])
            let reason = try body.text("reason")
            guard let rejection = Rejection(rawValue: reason) else { throw .badRequest("no reason '\(reason)'") }
            if let status = body["status"]?.int, status != rejection.status {
                throw .badRequest("\(reason) goes with status \(rejection.status)")
            }
            control.shared.answers.plan(rejection, times: body["times"]?.int ?? 1)
        case "device":
            let body = try object(request, ["id": .text, "faults": .count])
            guard let id = DeviceID(hex: try body.text("id")) else {
                throw .badRequest("id has 16 hexadecimal digits")
            }
            let faults = body["faults"]?.int ?? 1
            try control.ask(bucket: id.bucket) { $0.home.plannedFaults[id] = faults > 0 ? faults : nil }
        default: throw .notFound("the hooks are clock, store, loop, answer and device")
        }
        return AdminResponse(status: 201, body: Array("{}".utf8))
    }
}
