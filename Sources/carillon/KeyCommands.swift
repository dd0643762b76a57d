import Client
import JSON
import PushCore
import TLS

/// `carillon key ...`: the keys that teams sign provider tokens with.
enum KeyCommands {
    static let all: [Command] = [
        Command(
            name: "key create",
            summary: "make a signing key; the gateway keeps only its public half",
            options: [team] + scope + CommandOption.adminAccess,
            example: "carillon key create --team DEMOTEAM01 --environment production",
            run: create
        ),
        Command(
            name: "key import",
            summary: "let a key that exists sign; only its public half is sent",
            arguments: ["FILE"],
            options: [.value("key-id", "K", "the key's id, ten capitals and digits", required: true), team] + scope
                + CommandOption.adminAccess,
            example: "carillon key import AuthKey_ABC123DEFG.p8 --key-id ABC123DEFG --team DEMOTEAM01",
            run: importKey
        ),
        Command(
            name: "key list",
            summary: "list the keys",
            options: CommandOption.adminAccess,
            example: "carillon key list",
            run: { invocation throws(CommandError) in try keys.run(invocation) }
        ),
        Command(
            name: "key revoke",
            summary: "refuse a key from its next request on",
            arguments: ["KEYID"],
            options: CommandOption.adminAccess,
            example: "carillon key revoke ABC123DEFG",
            run: revoke
        ),
    ]

    private static let team = CommandOption.value("team", "T", "the team that signs with it", required: true)
    private static let scope: [CommandOption] = [
        .value("environment", "E", "development, production or all (default)"),
        .list("topic", "X", "a topic it may push to (default: all of the team's)"),
    ]

    private static let keys = ListCommand(
        path: "/v1/keys",
        columns: [
            ("KEY ID", "keyID"), ("TEAM", "team"), ("ENVIRONMENT", "environment"), ("TOPICS", "topics"),
            ("CREATED", "createdAt"), ("REVOKED", "revokedAt"),
        ]
    )

    private static func create(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let gateway = try AdminGateway(invocation)
        let directory = try keysDirectory(invocation)
        let answer = try gateway.parse(gateway.request("POST", "/v1/keys", body: .object(try members(invocation))))
        guard let keyID = answer["keyID"]?.string, let pem = answer["privateKey"]?.string else {
            throw .failed(code: "bad_answer", message: "\(gateway.url) answered no private key")
        }
        let path = Files.join(directory, "AuthKey_\(keyID).p8")
        try Files.create(path, Array(pem.utf8), mode: 0o600)
        guard invocation.wantsJSON else {
            Output.line("made key \(keyID) in \(path)")
            return .done
        }
        Output.object { writer in
            for name in ["keyID", "team", "environment", "topics"] { writer.field(name, answer[name] ?? .null) }
            writer.field("key", path)
        }
        return .done
    }

    private static func importKey(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let keyID = invocation.required("key-id")
        let publicKey = try publicHalf(of: invocation.arguments[0])
        let own: [(String, JSONValue)] = [("keyID", .string(keyID)), ("publicKey", .string(publicKey))]
        let body = try AdminGateway(invocation)
            .request("POST", "/v1/keys", body: .object(own + (try members(invocation))))
        if invocation.wantsJSON { Output.json(body) } else { Output.line("key \(keyID) may sign") }
        return .done
    }

    private static func revoke(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let keyID = invocation.arguments[0]
        return try delete("/v1/keys/\(HTTPClient.escape(keyID))", invocation, done: "revoked key \(keyID)")
    }

    private static func members(_ invocation: Invocation) throws(CommandError) -> [(String, JSONValue)] {
        let scopes = ProviderKey.Scope.allCases.map(\.rawValue)
        return [
            ("team", .string(invocation.required("team"))),
            ("environment", .string(try invocation.choice("environment", of: scopes) ?? "all")),
            ("topics", .array(invocation.all("topic").map(JSONValue.string))),
        ]
    }

    /// The instance's `keys`, made if need be; without an instance, where the command was typed.
    private static func keysDirectory(_ invocation: Invocation) throws(CommandError) -> String {
        guard let instance = try Instance.find(invocation) else { return Files.absolute(".") }
        if !Files.exists(instance.keysDirectory) { try Files.createDirectory(instance.keysDirectory) }
        return instance.keysDirectory
    }

    /// The public key in a `.p8` or a public PEM file, as PEM.
    private static func publicHalf(of path: String) throws(CommandError) -> String {
        let pem = try Files.read(path, mayBePipe: true)
        do throws(TLSError) {
            let isPrivate = String(decoding: pem, as: UTF8.self).contains("PRIVATE KEY-----")
            let key = isPrivate ? try PrivateKey(pem: pem).publicKey : try PublicKey(pem: pem)
            return String(decoding: key.pem, as: UTF8.self)
        } catch {
            throw .failed(code: "bad_key", message: "\(path) holds no key in PEM: \(error)")
        }
    }
}
