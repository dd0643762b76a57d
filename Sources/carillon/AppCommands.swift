import Client
import JSON

/// `carillon app ...`: the bundles that may be pushed to.
enum AppCommands {
    static let all: [Command] = [
        Command(
            name: "app add",
            summary: "let a team push to a bundle",
            arguments: ["BUNDLE"],
            options: [
                .value("team", "T", "the team's id, ten capitals and digits", required: true),
                .flag("broadcast", "let it use broadcast channels"),
            ] + CommandOption.adminAccess,
            example: "carillon app add com.example.news --team DEMOTEAM01",
            run: add
        ),
        Command(
            name: "app list",
            summary: "list the apps",
            options: CommandOption.adminAccess,
            example: "carillon app list",
            run: { invocation throws(CommandError) in try apps.run(invocation) }
        ),
        Command(
            name: "app remove",
            summary: "remove an app and revoke its registrations",
            arguments: ["BUNDLE"],
            options: CommandOption.adminAccess,
            example: "carillon app remove com.example.news",
            run: remove
        ),
    ]

    private static let apps = ListCommand(
        path: "/v1/apps",
        columns: [("BUNDLE", "bundle"), ("TEAM", "team"), ("BROADCAST", "broadcast")]
    )

    private static func add(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let (bundle, team) = (invocation.arguments[0], invocation.required("team"))
        let app: JSONValue = .object([
            ("bundle", .string(bundle)), ("team", .string(team)), ("broadcast", .bool(invocation.has("broadcast"))),
        ])
        let body = try AdminGateway(invocation).request("POST", "/v1/apps", body: app)
        if invocation.wantsJSON { Output.json(body) } else { Output.line("team \(team) may push to \(bundle)") }
        return .done
    }

    private static func remove(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let bundle = invocation.arguments[0]
        let path = "/v1/apps/\(HTTPClient.escape(bundle))"
        return try delete(path, invocation, done: "removed \(bundle) and revoked its registrations")
    }
}
