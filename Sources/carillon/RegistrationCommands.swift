import Client

/// `carillon registration ...`: which device takes which topic.
enum RegistrationCommands {
    static let all: [Command] = [
        Command(
            name: "registration list",
            summary: "list device tokens",
            options: [
                .value("device", "ID", "only this device's"),
                .value("topic", "X", "only this topic's"),
            ] + CommandOption.adminAccess,
            example: "carillon registration list --topic com.example.demo",
            run: list
        ),
        Command(
            name: "registration revoke",
            summary: "make a device token answer 410; what is queued for it goes",
            arguments: ["TOKEN"],
            options: CommandOption.adminAccess,
            example: "carillon registration revoke 5f0a...",
            run: revoke
        ),
    ]

    private static let registrations = ListCommand(
        path: "/v1/registrations",
        columns: [
            ("TOKEN", "token"), ("DEVICE", "device"), ("TOPIC", "topic"), ("ENABLED", "enabled"),
            ("STORED", "stored"), ("REVOKED", "revokedAt"),
        ]
    )

    private static func list(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let filters = ["device", "topic"].compactMap { name in
            invocation.value(name).map { (name: name, value: $0) }
        }
        return try registrations.run(invocation, query: filters)
    }

    private static func revoke(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let path = "/v1/registrations/\(HTTPClient.escape(invocation.arguments[0]))"
        return try delete(path, invocation, done: "revoked: pushes to this token now answer 410")
    }
}
