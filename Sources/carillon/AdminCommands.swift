import Gateway
import JSON

/// `carillon admin ...`: who may manage the gateway. These work on the instance's files, where the gateway looks for
/// each request; so they need no gateway that runs, and nobody who has only a token can use them.
enum AdminCommands {
    static let all: [Command] = [
        Command(
            name: "admin rotate-token",
            summary: "make a new admin token; the old one is void at once",
            options: [CommandOption.config],
            example: "carillon admin rotate-token --config instance/carillon.conf",
            run: rotate
        ),
        Command(
            name: "admin create-readonly-token",
            summary: "make a token that reads what is no payload and changes nothing",
            options: [CommandOption.config, .flag("replace", "void the one there is at once")],
            example: "carillon admin create-readonly-token --config instance/carillon.conf",
            run: createReadOnly
        ),
    ]

    private static func rotate(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let instance = try Instance.require(invocation)
        let token = try write(instance.adminTokenPath, instance)
        return report(token, "adminToken", at: instance.adminTokenPath, invocation)
    }

    private static func createReadOnly(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let instance = try Instance.require(invocation)
        let path = instance.readOnlyTokenPath
        guard invocation.has("replace") || !Files.exists(path) else {
            throw .failed(code: "exists", message: "\(path) is there already; say --replace to void it")
        }
        return report(try write(path, instance), "readOnlyToken", at: path, invocation)
    }

    private static func write(_ path: String, _ instance: Instance) throws(CommandError) -> String {
        let token = AdminTokenFiles.makeToken()
        try Files.replace(path, AdminTokenFiles.text(token), mode: 0o600)
        return token
    }

    private static func report(_ token: String, _ field: String, at path: String, _ invocation: Invocation) -> Outcome {
        guard invocation.wantsJSON else {
            Output.line("wrote a new token to \(path); it is good now, and the one before it is not")
            return .done
        }
        Output.object { writer in
            writer.field(field, token)
            writer.field("file", path)
        }
        return .done
    }
}
