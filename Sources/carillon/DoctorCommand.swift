import JSON

/// `carillon doctor`: tries what operators get wrong, and says what it could not try.
enum DoctorCommand {
    static let command = Command(
        name: "doctor",
        summary: "check this machine and instance, then send a real push through both wires",
        options: CommandOption.adminAccess,
        example: "carillon doctor --config instance/carillon.conf",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let instance = try Instance.require(invocation)
        var worst = Finding.Result.ok
        func report(_ finding: Finding) {
            if finding.result == .failed { worst = .failed }
            finding.show(json: invocation.wantsJSON)
        }
        for check in MachineChecks.all { report(check(instance)) }
        for check in FileChecks.all { report(check(instance)) }
        for finding in PushCheck.run(invocation, instance) { report(finding) }
        return worst == .failed ? .failed : .done
    }
}

/// What one check of the doctor found.
struct Finding: Equatable {
    /// How the check went.
    enum Result: String {
        case ok
        case warning
        case failed
        /// It was not tried; the message says why.
        case skipped
    }

    let check: String
    let result: Result
    let message: String
    /// What to do about it; nil when there is nothing to do.
    let fix: String?

    static func ok(_ check: String, _ message: String) -> Finding {
        Finding(check: check, result: .ok, message: message, fix: nil)
    }

    static func skipped(_ check: String, _ message: String) -> Finding {
        Finding(check: check, result: .skipped, message: message, fix: nil)
    }

    static func warning(_ check: String, _ message: String, fix: String) -> Finding {
        Finding(check: check, result: .warning, message: message, fix: fix)
    }

    static func failed(_ check: String, _ message: String, fix: String) -> Finding {
        Finding(check: check, result: .failed, message: message, fix: fix)
    }

    /// Prints it as one JSON object, or as a line and, if there is one, its fix below.
    func show(json: Bool) {
        if json {
            Output.object { writer in
                writer.field("check", check)
                writer.field("result", result.rawValue)
                writer.field("message", message)
                writer.field("fix", fix)
            }
        } else {
            Output.line("\(padded(result.rawValue, to: 9))\(padded(check, to: 20))\(message)")
            if let fix { Output.line(String(repeating: " ", count: 29) + "fix: \(fix)") }
        }
    }
}
